"""The report as its reader sees it: opened in a browser, clicked through."""

import json
import shutil
from collections.abc import Iterator

import pytest
from pipeline_project import FIGURES, Project
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.ui import WebDriverWait

BROWSER, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))

pytestmark = [
    pytest.mark.pipeline,
    pytest.mark.xdist_group(__name__),
    pytest.mark.skipif(
        not (BROWSER and DRIVER), reason="no chromium with chromedriver on this machine"
    ),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(BROWSER)
    # CI runs as root in a container with little shared memory
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


class Reader:
    """Somebody who clicks through a report."""

    def __init__(self, browser: webdriver.Chrome):
        self.browser = browser

    def find(self, css: str, text: str | None = None) -> WebElement:
        """Wait for an element, of exactly this text."""

        def found(driver: webdriver.Chrome) -> WebElement | None:
            elements = driver.find_elements(By.CSS_SELECTOR, css)
            return next((e for e in elements if text is None or e.text.strip() == text), None)

        return WebDriverWait(self.browser, 20).until(found)

    def all(self, css: str) -> list[WebElement]:
        """The elements that there are now."""
        return self.browser.find_elements(By.CSS_SELECTOR, css)

    def wait_for_picture(self, image: WebElement, *, more_than: int) -> None:
        """Until it is read, of more than so many pixels in width."""
        WebDriverWait(self.browser, 20).until(
            lambda _: int(image.get_property("naturalWidth")) > more_than
        )

    def open(self, category: str, entry: str) -> None:
        """Click a category of the menu and the eye of one of its entries, and go into the page that it shows."""
        # leave the index, which the report opens on: its frame would be taken for the page's
        self.find("iframe")
        self.find("a", "Workflow").click()
        self.find("#rulegraph")
        self.find("a", category).click()
        row = self.find("td", entry).find_element(By.XPATH, "..")
        row.find_element(By.CSS_SELECTOR, "a[iconname=eye]").click()
        frame = self.find("iframe")
        self.reach(frame)
        self.browser.switch_to.frame(frame)

    def reach(self, element: WebElement) -> None:
        """Scroll to an element's top and to its bottom: both come into the window, and from side to side all of it,
        once the report's menu has taken its place beside the page.
        """

        def inside(driver: webdriver.Chrome, end: str, edge: str) -> bool:
            left, right, width, at, height = driver.execute_script(
                f"""
                arguments[0].scrollIntoView({{block: "{end}", behavior: "instant"}});
                const box = arguments[0].getBoundingClientRect();
                return [box.left, box.right, document.documentElement.clientWidth, box.{edge}, innerHeight];
                """,
                element,
            )
            # browsers round positions to parts of a pixel
            return bool(-1 <= at <= height + 1 and 0 <= left < right <= width + 1)

        for end, edge in (("start", "top"), ("end", "bottom")):
            WebDriverWait(self.browser, 20).until(
                lambda driver, end=end, edge=edge: inside(driver, end, edge), f"{edge} not in sight"
            )


@pytest.fixture(scope="module")
def project(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a report; made without a word of the preset."""
    folder = tmp_path_factory.mktemp("report") / "project"
    shutil.copytree(finished.folder, folder, symlinks=True)
    project = Project(folder)
    project("figures")
    project("figures", "--report", "results/smoke/report.html")
    return project


@pytest.fixture
def report(browser: webdriver.Chrome, project: Project) -> Reader:
    browser.switch_to.default_content()
    # pictures are larger than what there is for them; not what another test left, or the browser's own size
    browser.set_window_size(1000, 500)
    browser.get((project / "results/smoke/report.html").as_uri())
    return Reader(browser)


@pytest.mark.parametrize(("paper", "figure"), FIGURES.items())
def test_a_figures_page_shows_picture_notes_verdicts_and_settings(
    report: Reader, project: Project, paper: str, figure: str
) -> None:
    folder = project / f"results/smoke/{paper}/{figure}"
    described = json.loads((folder / "figure.json").read_bytes())
    verdicts = json.loads((folder / "verdicts.json").read_bytes())
    report.open(paper, figure)
    assert report.find("h1").text == described["title"]
    image = report.find("img")
    report.wait_for_picture(image, more_than=500)
    assert image.size["width"] > 500
    notes = report.all("ul.notes li")
    said = [*described["differences"]]
    said += ["Judged, but not in the picture: backpropagation."] * (paper == "mupc")
    assert [note.text for note in notes] == said
    claims = report.all("tr:has(td.holds)")
    assert len(claims) == len(verdicts) == (1 if paper == "mupc" else 0)
    for claim, verdict in zip(claims, verdicts, strict=True):
        assert verdict["statement"] in claim.text
        assert verdict["detail"] in claim.text
    for element in (image, *notes, *claims, report.find("td", "learning_rate")):
        report.reach(element)
    page = report.find("body").text
    # the browser sets mathematics in lines of its own
    for words in described["caption"].split("$")[::2]:
        assert " ".join(words.split()) in page
    assert "compared.configuration_hash" in page
    (usual,) = [e for e in report.all("details td") if e.get_property("textContent") == "dtype"]
    assert not usual.is_displayed()
    report.find("summary").click()
    report.reach(usual)


def test_the_index_shows_every_figure_and_every_verdict(report: Reader, project: Project) -> None:
    audit = json.loads((project / "results/smoke/audit.json").read_bytes())
    report.open("All figures", "thumbnails and verdicts")
    pictures = report.all(".thumbnails img")
    assert len(pictures) == len(FIGURES)
    for picture in pictures:
        report.wait_for_picture(picture, more_than=100)
        report.reach(picture)
    rows = report.all("h3 + table tr")
    assert audit["verdicts"]
    for verdict in audit["verdicts"]:
        (row,) = [row for row in rows if verdict["statement"] in row.text]
        assert verdict["detail"] in row.text
        assert row.find_element(By.CSS_SELECTOR, f"td.{verdict['verdict']}").is_displayed()
        report.reach(row)
    # a link to another page would leave an empty one
    links = report.all("a")
    assert links
    assert all(link.get_dom_attribute("href").startswith("#") for link in links)


def test_the_index_leads_to_figures_where_it_lies(
    browser: webdriver.Chrome, project: Project
) -> None:
    index = project / "results/smoke/index.html"
    for paper, figure in FIGURES.items():
        browser.get(index.as_uri())
        browser.find_element(By.LINK_TEXT, figure).click()
        page = (project / f"results/smoke/{paper}/{figure}/summary.html").as_uri()
        WebDriverWait(browser, 20).until(expected_conditions.url_to_be(page))
    browser.get(index.as_uri())
    browser.find_element(By.LINK_TEXT, "1 holds").click()
    assert browser.current_url == f"{index.as_uri()}#mupc/fig5"


@pytest.mark.parametrize("page", ["index.html", "mupc/fig5/summary.html"])
def test_pages_fit_a_narrow_window(browser: webdriver.Chrome, project: Project, page: str) -> None:
    browser.set_window_size(500, 800)
    browser.get((project / "results/smoke" / page).as_uri())
    width, shown = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert width <= shown <= 500


def test_the_report_opens_on_the_index(report: Reader) -> None:
    report.browser.switch_to.frame(report.find("iframe"))
    assert report.find("h1").text == "All figures at the preset smoke"
    report.browser.switch_to.default_content()
    report.find("a", "Workflow").click()
    report.find("#rulegraph")


def test_the_page_of_the_workflow_names_the_preset(report: Reader) -> None:
    report.find("iframe")
    report.find("a", "Workflow").click()
    assert report.find(".prose strong").text == "smoke"
    assert "at the preset smoke." in report.find(".prose").text


def test_the_browser_reports_no_error(report: Reader) -> None:
    report.browser.get_log("browser")
    report.find("a", "mupc")
    errors = [e["message"] for e in report.browser.get_log("browser") if e["level"] == "SEVERE"]
    assert errors == []
