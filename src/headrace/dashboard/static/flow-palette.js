// The palette of the flow editor: drag an item to the canvas, click it, or search and press Enter.
export function startPalette(palette, add) {
  const search = palette.querySelector("input"), items = [...palette.querySelectorAll("[data-item]")];
  const open = new Map([...palette.querySelectorAll("details")].map(group => [group, group.open]));
  const narrow = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    const matches = item => words.every(word => `${item.dataset.item} ${item.textContent} ${item.title}`.toLowerCase().includes(word));
    items.forEach(item => { item.hidden = !matches(item); });
    for (const [group, before] of open) {
      group.hidden = !group.querySelector("[data-item]:not([hidden])");
      group.open = search.value ? true : before;
    }
  };
  const choose = item => {
    search.value = "";
    narrow();
    add(item.dataset.item);
  };
  search.addEventListener("input", narrow);
  palette.addEventListener("submit", event => {
    event.preventDefault();
    const words = search.value.toLowerCase().trim();
    const visible = items.filter(item => !item.hidden);
    const first = visible.find(item => item.textContent.toLowerCase() === words) ?? visible[0];
    if (first && words) choose(first);
  });
  for (const item of items) {
    item.onclick = () => choose(item);
    item.ondragstart = event => { event.dataTransfer.setData("text/item", item.dataset.item); event.dataTransfer.effectAllowed = "copy"; };
  }
}
