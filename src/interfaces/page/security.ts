/**
 * Access control of the page. Only a browser on this machine that has the token from the printed address gets in. The
 * Host header check rejects other host names (DNS rebinding). The content security policy prevents that text of a
 * conversation runs as a script.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'

/** A new token with 256 random bits. */
export const newToken = (): string => randomBytes(32).toString('base64url')

/** Allows scripts, styles and requests from the page's own origin only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Headers of every response. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), browsing-topics=()',
  'cache-control': 'no-store',
}

/** Loopback host names. */
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]'])

/** Whether a Host header names this server. */
export function isOwnHost(host: string | undefined, port: number): boolean {
  const [, name = '', at] = /^(\[[0-9a-f:]+\]|[^:]+)(?::(\d+))?$/iu.exec(host ?? '') ?? []
  return LOOPBACK.has(name.toLowerCase()) && Number(at ?? 80) === port
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
/** Compares two secrets in constant time. */
export const same = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b))

interface GuardOptions {
  readonly token: string
  /** When the server started. */
  readonly startedAt: Date
  /** The port of the server, after it listens. */
  readonly port: () => number
}

const reject = (context: Context, status: 405 | 421, sentence: string): Response =>
  context.text(`${sentence}\n`, status, { ...PAGE_HEADERS })

/**
 * Rejects an old token, or none. It says where the new address is, but not the address: it contains the new token.
 * Without a style, because the style sheet needs the token too.
 */
const rejectToken = (context: Context, isOld: boolean, startedAt: Date): Response => {
  const title = isOld ? 'This address is not valid' : 'This address is incomplete'
  const time = `${startedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  return context.html(
    `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>${title}</title></head>
<body><main><h1>${title}</h1>
<p>${isOld ? `It was not copied as a whole, or it is of an earlier start: the page was started at ${time}, with an address of its own.` : 'The address needs the token that was printed with it.'}</p>
<p>The new address is in the terminal in which <code>context-ledger page</code> runs (process ${String(process.pid)}). If you cannot find it, stop that process and run <code>context-ledger page</code> again.</p>
</main></body></html>
`,
    403,
    { ...PAGE_HEADERS },
  )
}

/**
 * Accepts requests with the token. The token comes from the URL once and is then stored in an HttpOnly, SameSite=Strict
 * cookie.
 */
export function guard({ token, port, startedAt }: GuardOptions): MiddlewareHandler {
  return async (context, next) => {
    if (!isOwnHost(context.req.header('host'), port())) return reject(context, 421, 'unknown host name')
    if (context.req.method !== 'GET' && context.req.method !== 'HEAD')
      return reject(context, 405, 'only GET is allowed')
    // Cookies do not distinguish ports, and several pages may run at the same time.
    const cookie = `context-ledger-${String(port())}`
    const tokenInUrl = context.req.query('token')
    if (tokenInUrl !== undefined) {
      if (!same(tokenInUrl, token)) return rejectToken(context, true, startedAt)
      setCookie(context, cookie, token, { httpOnly: true, sameSite: 'Strict', path: '/' })
      const address = new URL(context.req.url)
      address.searchParams.delete('token')
      for (const [name, value] of Object.entries(PAGE_HEADERS)) context.header(name, value)
      return context.redirect(`${address.pathname}${address.search}`, 303)
    }
    const cookieToken = getCookie(context, cookie)
    if (!same(cookieToken ?? '', token)) return rejectToken(context, cookieToken !== undefined, startedAt)
    return await withHeaders(context, next)
  }
}

/**
 * Adds the security headers and does not check access. Keeps a `Cache-Control` header that is already set; only static
 * files set one.
 */
export const withHeaders: MiddlewareHandler = async (context, next) => {
  await next()
  for (const [name, value] of Object.entries(PAGE_HEADERS))
    if (name !== 'cache-control' || !context.res.headers.has(name)) context.header(name, value)
  return undefined
}
