"""A page in a browser, and what holds of every page: our origin alone, nothing that the policy stops.

What must not happen is noted while the page is used and asked for at the end: requests to other
origins, things that the page's policy stopped, errors in scripts, dialogs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Dialog, Page, Request, Response

__all__ = ["LOOKS", "Look", "Theme", "View"]

ROOT: Final = Path(__file__).resolve().parents[2]
SCREENSHOTS: Final = ROOT / ".screenshots"
AXE: Final = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
#: WCAG 2.2 AA, as far as a program can tell.
AXE_TAGS: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
Theme: TypeAlias = Literal["light", "dark"]
#: A page tells here what its policy stopped: the console says it too, but in words that change.
NOTE_VIOLATIONS: Final = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.__violations.push(`${event.effectiveDirective}: ${event.blockedURI} ${event.sample}`);
});
"""


#: A page counts what it has asked for and was not answered yet; streams of events are none of it.
COUNT_REQUESTS: Final = """
window.__asked = 0;
window.fetch = ((ask) => (...what) => {
  window.__asked += 1;
  return ask(...what).finally(() => { window.__asked -= 1; });
})(window.fetch);
"""
#: What stands where something is still to come.
WAITING: Final = ".mantine-Skeleton-root, [aria-busy=true], [aria-label='Loading points']"
#: An answer is drawn, and asks for more, within so many milliseconds.
QUIET_MS: Final = 100
IS_SETTLED: Final = """([waiting, quiet]) => {
  const isBusy = window.__asked > 0 || document.querySelector("#root, main") === null
    || document.querySelector(waiting) !== null;
  const now = performance.now();
  if (isBusy) window.__busyAt = now;
  return now - (window.__busyAt ??= now) >= quiet;
}"""


@dataclass(frozen=True, slots=True)
class Look:
    """How somebody looks at a page."""

    theme: Theme = "light"
    width: int = 1280
    height: int = 800

    def __str__(self) -> str:
        return f"{self.theme}-{self.width}"


#: A screen and a phone, by day and by night.
LOOKS: Final = (
    Look("light"),
    Look("dark"),
    Look("light", 390, 844),
    Look("dark", 390, 844),
)


class View:
    """One page of a browser, signed in or not, and what it did."""

    def __init__(self, context: BrowserContext, *, url: str, name: str, look: Look) -> None:
        self.context = context
        self.url = url
        """Of the server, without a slash at its end."""
        self.name = name
        """Of the test; screenshots are called after it."""
        self.look = look
        self.foreign: list[str] = []
        """Addresses of requests to other origins."""
        self.failures: list[str] = []
        """Errors in scripts, and what the console calls an error."""
        self.dialogs: list[str] = []
        self.answers: dict[str, int] = {}
        """Status by path of what the server answered."""
        self.expected_statuses: set[int] = {401}
        """Of answers that the console calls errors, and the test does not."""
        self.expected_errors: set[str] = set()
        """Parts of what the console calls errors, and the test does not."""
        context.add_init_script(NOTE_VIOLATIONS)
        context.add_init_script(COUNT_REQUESTS)
        context.on("request", self._note_request)
        context.on("response", self._note_response)
        self.page: Page = context.new_page()
        self.page.on("pageerror", lambda error: self.failures.append(str(error)))
        self.page.on("console", self._note_console)
        self.page.on("dialog", self._note_dialog)

    def open(self, address: str) -> Page:
        """Go to an address of the server; what its page asks for may still be under way."""
        self.page.goto(address if "://" in address else self.url + address)
        return self.page

    def settle(self) -> None:
        """Wait until nothing is asked for and nothing stands where something is still to come."""
        self.page.evaluate("delete window.__busyAt")
        self.page.wait_for_function(IS_SETTLED, arg=[WAITING, QUIET_MS], polling=25)

    def shoot(self, part: str = "") -> Path:
        """Keep a screenshot, called after the test, the look and a part of one's own.

        Of a page as it is: who wants what it comes to settles it before.
        """
        SCREENSHOTS.mkdir(exist_ok=True)
        path = SCREENSHOTS / f"{self.name}{f'.{part}' if part else ''}.{self.look}.png"
        self.page.screenshot(path=path, animations="disabled", caret="hide")
        return path

    def axe(self, *, within: str | None = None, without: tuple[str, ...] = ()) -> None:
        """Check that everybody can use the page, as far as a program can tell.

        Args:
            within: a selector; by default the whole page.
            without: selectors of what is left out.
        """
        self.settle()
        self.page.evaluate(AXE.read_text("utf-8"))
        found = self.page.evaluate(
            "([within, without, tags]) => axe.run("
            "{include: [[within]], exclude: without.map((one) => [one])},"
            "{runOnly: {type: 'tag', values: tags}})",
            [within or "html", list(without), list(AXE_TAGS)],
        )
        assert not found["violations"], "\n".join(_told(one) for one in found["violations"])

    def check_width(self) -> None:
        """Check that nothing makes the page wider than the window: it would scroll sideways."""
        self.settle()
        width = self.page.evaluate("document.documentElement.scrollWidth")
        assert width <= self.look.width, f"the page is {width} px wide"

    def check(self) -> None:
        """Check what holds of every page, whatever was done with it."""
        violations = [
            one
            for page in self.context.pages
            for one in page.evaluate("window.__violations ?? []")
        ]
        noted = {
            "stopped by the policy": violations,
            "asked of another origin": self.foreign,
            "dialogs": self.dialogs,
            "errors": self.failures,
        }
        said = [f"{what}: {one}" for what, found in noted.items() for one in found]
        assert not said, "\n".join(said)

    def _note_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in {"data", "blob", "about"}:
            return
        if f"{parts.scheme}://{parts.netloc}" != self.url:
            self.foreign.append(request.url)

    def _note_response(self, response: Response) -> None:
        self.answers[urlsplit(response.url).path] = response.status

    def _note_console(self, message: Any) -> None:
        if message.type != "error":
            return
        if message.location.get("url", "").endswith("/favicon.ico"):
            # A browser asks for it by itself where a document names no icon.
            return
        said = str(message.text)
        if any(f"status of {status} " in said for status in self.expected_statuses):
            return
        if any(part in said for part in self.expected_errors):
            return
        self.failures.append(said)

    def _note_dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


def _told(violation: dict[str, Any]) -> str:
    places = "; ".join(node["html"][:200] for node in violation["nodes"][:5])
    return f"{violation['id']}: {violation['help']} ({violation['helpUrl']}): {places}"
