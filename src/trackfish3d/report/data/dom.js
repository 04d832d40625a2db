/** Element by id. */
export const $ = (id) => document.getElementById(id);

/** Make an element: properties, then children (text is set as text, never as markup). */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Keep a canvas as sharp as the screen; draw(context, width, height) in CSS pixels, now and after each resize. */
export function sharp(canvas, draw) {
  const redraw = () => {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (!width || !height) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, width, height);
  };
  new ResizeObserver(redraw).observe(canvas);
  return redraw;
}

/** Small text beside the pointer; nothing hides it. */
export function tip(event, text) {
  const box = document.getElementById("tip");
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  const left = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 6);
  const top = event.clientY + 18 + box.offsetHeight > innerHeight ? event.clientY - box.offsetHeight - 8 : event.clientY + 16;
  box.style.left = left + "px";
  box.style.top = top + "px";
}

/** Round numbers between low and high, about `wanted` of them. */
export function ticks(low, high, wanted) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(span / wanted));
  const step = [1, 2, 5, 10].map((s) => s * power).find((s) => span / s <= wanted) || 10 * power;
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) out.push(+(i * step).toPrecision(12));
  return out;
}

/** A number for people: three digits, no exponent where it can be helped. */
export function short(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  return Math.abs(value) >= 1000 ? String(Math.round(value)) : String(+value.toPrecision(3));
}
