/** What the kit of components is told of the look; colours stand in `tokens.css`. */
import { createTheme, defaultVariantColorsResolver } from "@mantine/core";

export const theme = createTheme({
  primaryColor: "blue",
  defaultRadius: 4,
  cursorType: "pointer",
  respectReducedMotion: true,
  // The kit's white is too faint on its red, and on the accent of the dark theme.
  variantColorResolver: (asked) => {
    const colours = defaultVariantColorsResolver(asked);
    const isFilled = asked.variant === "filled";
    if (asked.color === "red") {
      return isFilled
        ? { ...colours, color: "var(--on-accent)", background: "var(--bad)", hover: "var(--bad)" }
        : { ...colours, color: "var(--bad)" };
    }
    const isAccent = asked.color === undefined || asked.color === "blue";
    return isFilled && isAccent ? { ...colours, color: "var(--on-accent)" } : colours;
  },
  components: {
    Button: { defaultProps: { size: "xs" } },
    ActionIcon: { defaultProps: { size: "md", variant: "subtle", color: "gray" } },
    TextInput: { defaultProps: { size: "xs" } },
    Textarea: { defaultProps: { size: "xs" } },
    Select: { defaultProps: { size: "xs" } },
    MultiSelect: { defaultProps: { size: "xs" } },
    NumberInput: { defaultProps: { size: "xs" } },
    Checkbox: { defaultProps: { size: "xs" } },
    Switch: { defaultProps: { size: "xs" } },
    SegmentedControl: { defaultProps: { size: "xs" } },
    // What keeps the page from scrolling is a style element, which the policy forbids.
    Modal: {
      defaultProps: { closeButtonProps: { "aria-label": "Close" }, radius: 4, lockScroll: false },
    },
    // A menu begins with its first entry; what takes the focus instead is no entry of a menu.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Drawer: { defaultProps: { closeButtonProps: { "aria-label": "Close" }, lockScroll: false } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true } },
  },
});
