/**
 * The login of the page: a session in a cookie that only the page accepts. The API takes keys and no cookie, so nothing
 * that a browser sends by itself reaches it. Every process with the same pepper accepts a session; it ends when its key is
 * revoked or rotated.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { KeyRecord } from '../../ports/service-state.js'
import { PAGE_HEADERS } from '../page/security.js'

const LASTS_SECONDS = 12 * 3_600
/** Bytes of a login at most. */
export const LOGIN_BYTES = 16_384
export const LOGIN_PATH = '/login'

const mac = (pepper: string, text: string): string => createHmac('sha256', pepper).update(text).digest('base64url')

/** Ledgers on several ports of one host share the cookies of a browser. */
const cookieOf = (pepper: string): string => `context-ledger-page-${mac(pepper, 'page cookie').slice(0, 12)}`

const proofOf = (pepper: string, { id, hash }: KeyRecord, until: string): string =>
  mac(pepper, `page session ${id} ${until} ${hash}`)

/** The cookie of a new session. */
export function sessionCookie(pepper: string, key: KeyRecord, isSecure: boolean, now: number): string {
  const until = String(Math.floor(now / 1_000) + LASTS_SECONDS)
  const value = `${key.id}.${until}.${proofOf(pepper, key, until)}`
  const secure = isSecure ? '; Secure' : ''
  return `${cookieOf(pepper)}=${value}; Path=/; Max-Age=${String(LASTS_SECONDS)}; HttpOnly; SameSite=Strict${secure}`
}

/** The key of the session in a request; undefined without a valid session. */
export async function keyOfSession(
  pepper: string,
  headers: Headers,
  find: (keyId: string) => Promise<KeyRecord | undefined>,
  now: number,
): Promise<KeyRecord | undefined> {
  const name = cookieOf(pepper)
  const value = (headers.get('cookie') ?? '')
    .split(/;\s*/u)
    .find((each) => each.startsWith(`${name}=`))
    ?.slice(name.length + 1)
  const [, id, until, proof] = /^(?<id>[0-9a-f]{16})\.(?<until>\d{1,12})\.(?<proof>[\w-]{43})$/u.exec(value ?? '') ?? []
  if (id === undefined || until === undefined || proof === undefined || Number(until) * 1_000 < now) return undefined
  const key = await find(id)
  if (key === undefined) return undefined
  return timingSafeEqual(Buffer.from(proof), Buffer.from(proofOf(pepper, key, until))) ? key : undefined
}

/** A path of this service, for the way back after a login. */
export const ownPath = (path: string | null): string =>
  path !== null && /^\/(?![/\\])[^\s\\]*$/u.test(path) ? path : '/'

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** With `no-referrer`, a browser sends the form with the origin `null`, which is that of another site. */
const FORM_HEADERS = {
  ...PAGE_HEADERS,
  'content-type': 'text/html; charset=utf-8',
  'referrer-policy': 'same-origin',
}

/** The form that takes a key. */
export function loginForm(next: string, problem?: string): Response {
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>Log in to Context Ledger</title></head>
<body><main><h1>Log in</h1>
${problem === undefined ? '' : `<p role="alert">${escaped(problem)}</p>\n`}<form method="post" action="${LOGIN_PATH}">
<input type="hidden" name="next" value="${escaped(next)}">
<p><label>Key with the roles read and audit, for the whole ledger<br><input type="password" name="key" required autofocus autocomplete="current-password" size="64"></label></p>
<p><button type="submit">Log in</button></p>
</form></main></body></html>
`
  return new Response(html, { status: 401, headers: FORM_HEADERS })
}
