#include "causeway/report/script.h"

namespace causeway::report {

namespace {

// An element with data-values, [[left %, top %, text], …], shows the nearest value. One output
// element serves all charts: it is a live region, which screen readers read aloud.
constexpr std::string_view kScript = R"(<script>/*<![CDATA[*/
const tip = document.createElement("output");
tip.className = "tip";
document.body.append(tip);
const marker = document.createElement("i");
marker.className = "marker";

function place(chart, [x, y, text]) {
  const box = chart.getBoundingClientRect();
  const inside = chart.closest("dialog") || document.body;
  const origin = inside === document.body ? { left: -scrollX, top: -scrollY } :
    { left: inside.getBoundingClientRect().left - inside.scrollLeft,
      top: inside.getBoundingClientRect().top - inside.scrollTop };
  const left = box.left - origin.left + box.width * x / 100;
  const top = box.top - origin.top + box.height * y / 100;
  inside.append(marker);
  if (tip.parentNode !== inside) inside.append(tip);
  tip.textContent = text;
  marker.style.cssText = `left: ${left}px; top: ${top}px`;
  const width = inside.clientWidth;
  tip.style.left = Math.max(6, Math.min(left - tip.offsetWidth / 2, width - tip.offsetWidth - 6)) + "px";
  tip.style.top = (top - tip.offsetHeight - 12 > 4 ? top - tip.offsetHeight - 12 : top + 14) + "px";
}
function hide() {
  tip.textContent = "";
  marker.remove();
}

function listen(chart) {
  const values = JSON.parse(chart.dataset.values);
  let at = -1;
  const show = (index) => {
    at = Math.max(0, Math.min(index, values.length - 1));
    place(chart, values[at]);
  };
  const follow = (event) => {
    const box = chart.getBoundingClientRect();
    const far = ([x, y]) => Math.hypot(event.clientX - box.left - box.width * x / 100,
                                       (event.clientY - box.top - box.height * y / 100) / 3);
    let best = 0;
    values.forEach((value, i) => { if (far(value) < far(values[best])) best = i; });
    show(best);
  };
  chart.tabIndex = 0;
  chart.addEventListener("pointermove", follow);
  chart.addEventListener("pointerdown", follow);
  chart.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
  chart.addEventListener("blur", hide);
  chart.addEventListener("keydown", (event) => {
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: values.length - 1 }[event.key];
    if (event.key === "Escape") hide();
    if (next === undefined) return;
    event.preventDefault();
    show(next);
  });
}
const charts = (root) => root.querySelectorAll("[data-values]").forEach(listen);
charts(document);
document.addEventListener("pointerdown", (event) => {
  if (!event.target.closest("[data-values]")) hide();
});

for (const button of document.querySelectorAll("[data-family]")) {
  button.addEventListener("click", () => {
    for (const other of document.querySelectorAll("[data-family]")) {
      other.setAttribute("aria-pressed", other === button);
    }
    for (const card of document.querySelectorAll("article")) {
      card.hidden = button.dataset.family !== "" && card.dataset.of !== button.dataset.family;
    }
  });
}
for (const button of document.querySelectorAll(".enlarge")) {
  button.addEventListener("click", () => {
    const dialog = document.createElement("dialog");
    const card = button.closest("article").cloneNode(true);
    const close = card.querySelector(".enlarge");
    close.textContent = "Close";
    close.addEventListener("click", () => dialog.close());
    dialog.append(card);
    dialog.setAttribute("aria-label", card.querySelector("h2").textContent);
    dialog.addEventListener("close", () => { hide(); document.body.append(tip); dialog.remove(); });
    if (window.top !== window) dialog.style.marginTop = button.getBoundingClientRect().top + "px";
    document.body.append(dialog);
    charts(dialog);
    dialog.showModal();
  });
}
/*]]>*/</script>)";

}  // namespace

std::string_view script_html() { return kScript; }

}  // namespace causeway::report
