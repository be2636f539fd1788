/** Elements of the page. Every text is set as text, never as markup. */

export type Part = Node | string

/** An element with a class and content. */
export function element(tag: string, name: string, ...parts: readonly Part[]): HTMLElement {
  const made = document.createElement(tag)
  if (name !== '') made.className = name
  made.append(...parts)
  return made
}

export const section = (title: string, intro: string, ...parts: readonly Part[]): HTMLElement =>
  element('section', '', element('h2', '', title), ...(intro === '' ? [] : [element('p', 'muted', intro)]), ...parts)
