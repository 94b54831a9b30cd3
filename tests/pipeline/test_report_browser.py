"""The report as its reader sees it: opened in a browser, clicked through."""

import json
import shutil
from collections.abc import Iterator

import pytest
from pipeline_project import FIGURES, TARGETS, Project
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

BROWSER, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))

pytestmark = [
    pytest.mark.pipeline,
    pytest.mark.xdist_group("pipeline"),
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

    def show(self, entry: str) -> None:
        """Click the eye of an entry of the menu."""
        row = self.find("td", entry).find_element(By.XPATH, "..")
        row.find_element(By.CSS_SELECTOR, "a[iconname=eye]").click()


@pytest.fixture(scope="module")
def report(finished: Project) -> str:
    finished(*TARGETS, "--report", "results/smoke/report.html")
    return (finished / "results/smoke/report.html").as_uri()


@pytest.mark.parametrize(("paper", "figure"), FIGURES.items())
def test_every_figure_is_there(
    browser: webdriver.Chrome, report: str, finished: Project, paper: str, figure: str
) -> None:
    folder = finished / f"results/smoke/{paper}/{figure}"
    described = json.loads((folder / "figure.json").read_bytes())
    verdicts = json.loads((folder / "verdicts.json").read_bytes())
    reader = Reader(browser)
    browser.get(report)
    reader.find("a", paper).click()
    reader.show("figure")
    image = reader.find("img[src^='data:image/png']")
    WebDriverWait(browser, 20).until(lambda _: int(image.get_property("naturalWidth")) > 500)

    reader.show("caption, parameters, verdicts, provenance")
    browser.switch_to.frame(reader.find("iframe"))
    assert reader.find("h1").text == described["title"]
    page = reader.find("body").text
    assert " ".join(described["caption"].split()) in page
    for note in described["differences"]:
        assert note in page
    assert "learning_rate" in page
    for verdict in verdicts:
        assert verdict["statement"] in page
        assert verdict["verdict"] in page
    assert bool(verdicts) == (paper == "mupc")
    assert "compared.configuration_hash" in page
    browser.switch_to.default_content()


def test_the_browser_reports_no_error(browser: webdriver.Chrome, report: str) -> None:
    browser.get(report)
    Reader(browser).find("a", "mupc")
    errors = [e["message"] for e in browser.get_log("browser") if e["level"] == "SEVERE"]
    assert errors == []
