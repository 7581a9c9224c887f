import js from "@eslint/js";
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

/** The rooms, lowest first; rooms of one line never import each other, nobody imports upwards. */
const rooms = [["base"], ["api"], ["state"], ["charts", "timeline", "widgets"], ["pages"]];

/** Forbids a room's files what stands beside and above the room. */
function contract(room, line) {
  const forbidden = rooms
    .slice(line)
    .flat()
    .filter((other) => other !== room);
  return {
    files: [`src/${room}/**/*.{ts,tsx}`],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            ...(forbidden.length === 0
              ? []
              : [
                  {
                    group: forbidden.flatMap((other) => [`@/${other}`, `@/${other}/*`]),
                    message: `The room ${room} may not import this: imports go downwards only.`,
                  },
                ]),
            { group: ["../*"], message: "Another room is imported as @/room/module." },
          ],
        },
      ],
    },
  };
}

export default tseslint.config(
  { ignores: ["node_modules", "src/api/schema.d.ts"] },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked.map((config) => ({
    ...config,
    files: ["src/**/*.{ts,tsx}"],
  })),
  {
    files: ["src/**/*.{ts,tsx}"],
    languageOptions: { parserOptions: { projectService: true } },
    plugins: { "react-hooks": reactHooks },
    rules: {
      ...reactHooks.configs.recommended.rules,
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/consistent-type-imports": "error",
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "What users write is shown as text." },
      ],
      "no-restricted-syntax": [
        "error",
        {
          selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
          message: "What users write is shown as text.",
        },
      ],
    },
  },
  {
    files: ["src/**/*.{ts,tsx}"],
    ignores: ["src/**/*.test.{ts,tsx}"],
    // What is longer has two nouns: it is split where they meet.
    rules: { "max-lines": ["error", 300] },
  },
  ...rooms.flatMap((line, at) => line.map((room) => contract(room, at))),
);
