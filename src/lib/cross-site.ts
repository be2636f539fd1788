/**
 * Recognizes requests that a page of another site made a browser send. A browser adds stored credentials to them, and
 * sends those that a form can send without asking the server first.
 */

/** The content types of forms. A request with another one is allowed by the server first, or not sent. */
const FORM_TYPES: ReadonlySet<string> = new Set([
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'text/plain',
])

/** The content type of a form that a request has; undefined if it has another one, or none. */
export function formTypeOf(headers: Headers): string | undefined {
  const [type = ''] = (headers.get('content-type') ?? '').split(';')
  const media = type.trim().toLowerCase()
  return FORM_TYPES.has(media) ? media : undefined
}

/**
 * Whether a page of another site or of another port of this machine, or an extension of the browser, made the browser
 * send a request. Most requests of an extension have the site `none` and its own origin. A program that is no browser
 * sends neither header.
 */
export function isFromOtherSite(headers: Headers): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null && site !== 'none') return site !== 'same-origin'
  const origin = headers.get('origin')
  if (origin === null) return false
  return !URL.canParse(origin) || new URL(origin).host !== headers.get('host')
}
