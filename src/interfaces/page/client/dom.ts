/** Elements of the document, and fragments from the server. Texts of conversations arrive as escaped markup. */

/** The first element that a selector finds. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows the type of the element
export const one = <T extends Element>(selector: string, within: ParentNode = document): T | null =>
  within.querySelector<T>(selector)
/** All elements that a selector finds. */
export const all = <T extends Element>(selector: string, within: ParentNode = document): T[] => [
  ...within.querySelectorAll<T>(selector),
]

/** Fetches a fragment; undefined if the server failed. */
export async function fetchFragment(url: string, signal?: AbortSignal): Promise<DocumentFragment | undefined> {
  const answer = await fetch(url, { headers: { 'x-part': '1' }, ...(signal === undefined ? {} : { signal }) })
  const markup = await answer.text()
  if (answer.status >= 500 && markup === '') return undefined
  const template = document.createElement('template')
  template.innerHTML = markup
  return template.content
}
