"""The page as people meet it: a real Chromium, from a file, without a network. `make browser` installs one."""

from __future__ import annotations

import base64
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="no driver for a browser: needs selenium")
from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from tests.report.conftest import CLASSES, MODELS, NASTY

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no browser: needs chromium and chromedriver (make browser)"
)
SWITCHES = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars"
)
WIDTHS = (390, 1400)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for switch in (*SWITCHES.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(executable_path=DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser: webdriver.Chrome, page: Path) -> webdriver.Chrome:
    resize(browser, 1400)
    light(browser)
    for log in ("performance", "browser"):
        browser.get_log(log)
    browser.get(page.as_uri())
    if ask(browser, "document.documentElement.dataset.theme"):  # what an earlier test chose
        browser.execute_script("localStorage.clear()")
        browser.get(page.as_uri())
    return browser


def resize(browser: webdriver.Chrome, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def light(browser: webdriver.Chrome, preference: str = "light") -> None:
    wish = [{"name": "prefers-color-scheme", "value": preference}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wish})


def ask(browser: webdriver.Chrome, script: str, *given: object) -> Any:
    return browser.execute_script(f"return {script}", *given)


def wait_until(true: Callable[[], bool]) -> None:
    limit = time.monotonic() + 300  # how long a failure takes, on the slowest machine
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_opens_from_a_file_without_error_or_request(opened: webdriver.Chrome, page: Path) -> None:
    resize(opened, 390)
    opened.find_element(By.ID, "theme").click()
    events = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    urls = [request["request"]["url"] for request in sent if request["documentURL"] == page.as_uri()]
    assert page.as_uri() in urls
    assert not [url for url in urls if url != page.as_uri() and not url.startswith(("data:", "blob:"))]
    assert opened.get_log("browser") == []


def test_the_policy_is_in_force(opened: webdriver.Chrome) -> None:
    opened.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.broken = true'; document.body.append(s);"
        "window.refused = false; window.request = fetch('data:,x').catch(() => { window.refused = true; });"
    )
    wait_until(lambda: ask(opened, "window.refused"))
    assert ask(opened, "window.broken") is None
    opened.get_log("browser")


def test_every_chart_is_drawn(opened: webdriver.Chrome) -> None:
    drawn = ask(
        opened,
        """[...document.querySelectorAll("figure.chart")].map((chart) => ({
            traces: JSON.parse(chart.querySelector("script").textContent).data.length,
            svg: chart.querySelectorAll("svg.main-svg").length,
            marks: chart.querySelectorAll(".trace, .bars .point, .hm").length,
            width: chart.querySelector("svg.main-svg").getBoundingClientRect().width,
            canvas: chart.querySelectorAll("canvas").length}))""",
    )
    assert len(drawn) > 12
    for chart in drawn:
        assert chart["svg"] >= 1
        assert chart["marks"] >= 1
        assert chart["width"] > 200
        assert chart["canvas"] == 0


def test_colours_of_charts_come_from_the_palette(opened: webdriver.Chrome) -> None:
    fill = """getComputedStyle(document.querySelector(".bars .point path")).fill"""
    before = ask(opened, fill)
    assert before == "rgb(11, 107, 176)"
    opened.find_element(By.ID, "theme").click()
    wait_until(lambda: ask(opened, fill) == "rgb(95, 179, 238)")


def test_the_dark_theme_is_switched_and_remembered(opened: webdriver.Chrome, page: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    button = opened.find_element(By.ID, "theme")
    assert (ask(opened, ground), button.text) == ("rgb(251, 251, 249)", "Dark")
    button.click()
    assert (ask(opened, ground), button.text) == ("rgb(21, 23, 27)", "Light")
    opened.get(page.as_uri())
    assert ask(opened, ground) == "rgb(21, 23, 27)", "the choice is remembered"
    opened.find_element(By.ID, "theme").click()
    assert ask(opened, ground) == "rgb(251, 251, 249)"
    opened.execute_script("localStorage.clear()")
    light(opened, "dark")
    opened.get(page.as_uri())
    assert ask(opened, ground) == "rgb(21, 23, 27)", "without a choice the system decides"


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window(opened: webdriver.Chrome, page: Path, width: int) -> None:
    resize(opened, width)
    opened.get(page.as_uri())
    assert ask(opened, "document.documentElement.scrollWidth") <= width
    widest = """Math.max(...[...document.querySelectorAll("body *")]
        .filter((e) => !e.closest(".scroll") && !e.closest(".plot") && e.tagName !== "SCRIPT")
        .map((e) => e.getBoundingClientRect().right))"""
    assert ask(opened, widest) <= width
    charts = """[...document.querySelectorAll(".plot")].map((e) =>
        e.querySelector("svg.main-svg").getBoundingClientRect().right - e.getBoundingClientRect().right)"""
    assert max(ask(opened, charts)) <= 1


def test_tables_sort_by_value_both_ways(opened: webdriver.Chrome) -> None:
    section = opened.find_element(By.CSS_SELECTOR, "[data-kind=comparison]")
    table = section.find_element(By.TAG_NAME, "table")
    heads = {button.text: button for button in table.find_elements(By.CSS_SELECTOR, "th button")}

    def column(index: int) -> list[str]:
        return [
            row.find_elements(By.TAG_NAME, "td")[index].text for row in table.find_elements(By.CSS_SELECTOR, "tbody tr")
        ]

    heads["parameters"].click()
    counts = [int(text.replace(",", "")) for text in column(7)]
    assert counts == sorted(counts, reverse=True)
    heads["parameters"].click()
    assert [int(text.replace(",", "")) for text in column(7)] == sorted(counts)
    heads["p"].click()
    assert column(5)[-1] == "–", "undefined is last"
    heads["model"].click()
    assert len(column(0)) == len(MODELS) + 1  # and the majority
    head = table.find_elements(By.TAG_NAME, "th")[0]
    assert head.get_attribute("aria-sort") == "ascending"


def test_traces_hide_and_come_back(opened: webdriver.Chrome) -> None:
    chart = next(c for c in opened.find_elements(By.CSS_SELECTOR, "figure.chart") if c.text.startswith("Test score"))
    shown = """[...arguments[0].querySelector(".plot").data].map((t) => t.visible ?? true)"""
    toggle = chart.find_element(By.CSS_SELECTOR, ".legendtoggle")
    opened.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    webdriver.ActionChains(opened).move_to_element(toggle).click().perform()
    wait_until(lambda: ask(opened, shown, chart) == ["legendonly", True])


def test_hovering_tells_the_split(opened: webdriver.Chrome) -> None:
    chart = next(c for c in opened.find_elements(By.CSS_SELECTOR, "figure.chart") if c.text.startswith("Test score"))
    opened.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    point = chart.find_element(By.CSS_SELECTOR, ".points path")
    webdriver.ActionChains(opened).move_to_element(point).perform()
    wait_until(lambda: "split" in ask(opened, "arguments[0].querySelector('.hoverlayer').textContent", chart))


def test_names_are_shown_as_text_everywhere(opened: webdriver.Chrome) -> None:
    with pytest.raises(NoAlertPresentException):
        _ = opened.switch_to.alert
    assert ask(opened, "document.querySelectorAll('img, figure a, svg a').length") == 0
    assert ask(opened, "document.title").startswith(NASTY)
    assert NASTY in [heading.text.splitlines()[-1] for heading in opened.find_elements(By.TAG_NAME, "h2")]
    ticks = ask(
        opened, "[...document.querySelectorAll('.ytick text, .xtick text, .x2tick text')].map((e) => e.textContent)"
    )
    assert f"{NASTY[:23]}…" in ticks
    assert any(tick.startswith("<b>%{x}</b> {{ 7 * 7 }}") for tick in ticks)
    assert not [tick for tick in ticks if "&lt;" in tick]
    assert CLASSES[1] in ask(opened, "[...document.querySelectorAll('td')].map((e) => e.textContent)")


@pytest.mark.parametrize(
    ("title", "marks"),
    [
        ("A picture of the graph", ".points path"),
        ("ROC curve", ".lines path"),
        ("Precision and recall", ".lines path"),
        ("Gain", ".lines path"),
        ("Which features count", ".bars .point path"),
        ("Features, class by class", ".hm"),
    ],
)
def test_the_parts_of_a_run_are_drawn(opened: webdriver.Chrome, title: str, marks: str) -> None:
    charts = [c for c in opened.find_elements(By.CSS_SELECTOR, "figure.chart") if c.text.startswith(title)]
    assert charts
    for chart in charts:
        drawn = chart.find_elements(By.CSS_SELECTOR, marks)
        assert drawn
        assert max(mark.size["width"] for mark in drawn) > 2


def test_hovering_over_the_picture_names_a_node_as_text(opened: webdriver.Chrome) -> None:
    chart = next(c for c in opened.find_elements(By.CSS_SELECTOR, "figure.chart") if c.text.startswith("A picture"))
    opened.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    point = chart.find_element(By.CSS_SELECTOR, ".points path")
    webdriver.ActionChains(opened).move_to_element(point).perform()
    wait_until(lambda: NASTY in ask(opened, "arguments[0].querySelector('.hoverlayer').textContent", chart))


def test_the_nodes_to_look_at_first_are_a_table_that_sorts(opened: webdriver.Chrome) -> None:
    table = opened.find_element(By.CSS_SELECTOR, "table[aria-label='The nodes to look at first']")
    heads = {head.text: head for head in table.find_elements(By.CSS_SELECTOR, "th button")}
    assert {"node", "class", "probability"} <= set(heads)
    column = list(heads).index("probability")

    def shares() -> list[float]:
        rows = table.find_elements(By.CSS_SELECTOR, "tbody tr")
        return [float(row.find_elements(By.TAG_NAME, "td")[column].text.rstrip("%")) for row in rows]

    before = shares()
    assert 1 < len(before) <= 50
    assert before == sorted(before, reverse=True)
    heads["probability"].click()
    heads["probability"].click()
    assert shares() == sorted(before)
    assert table.find_elements(By.CSS_SELECTOR, "tbody td")[0].text.startswith(NASTY)


def test_new_tables_are_drawn_beside_those_of_training(browser: webdriver.Chrome, today: Path) -> None:
    resize(browser, 1400)
    browser.get_log("browser")
    browser.get(today.as_uri())
    section = browser.find_element(By.CSS_SELECTOR, "[data-kind='new tables']")
    charts = {chart.text.split()[0]: chart for chart in section.find_elements(By.CSS_SELECTOR, "figure.chart")}
    assert set(charts) == {"Numbers", "Classes"}
    for chart, groups in ((charts["Numbers"], 2), (charts["Classes"], 3)):
        assert len(chart.find_elements(By.CSS_SELECTOR, ".bars .trace, .barlayer .trace")) == groups
        assert len(chart.find_elements(By.CSS_SELECTOR, ".legend .traces")) == groups
        assert max(mark.size["height"] for mark in chart.find_elements(By.CSS_SELECTOR, ".point path")) > 10
    table = section.find_element(By.CSS_SELECTOR, "table[aria-label='New tables: the nodes to look at first']")
    assert table.find_elements(By.CSS_SELECTOR, "tbody td")[0].text.startswith(NASTY)
    assert len(table.find_elements(By.CSS_SELECTOR, "tbody tr")) == 50
    assert section.find_elements(By.CSS_SELECTOR, ".warnings li")
    assert ask(browser, "document.querySelectorAll('img').length") == 0
    assert browser.get_log("browser") == []


def test_it_prints_light_on_paper(opened: webdriver.Chrome) -> None:
    opened.find_element(By.ID, "theme").click()
    printed = base64.b64decode(opened.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert printed.startswith(b"%PDF")
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    assert ask(opened, "getComputedStyle(document.body).backgroundColor") == "rgb(251, 251, 249)"
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
