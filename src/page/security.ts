/**
 * Who may see the page: a browser on this machine that was given its address, which has a token in it once. A name that
 * leads here from elsewhere is refused by its Host header; what a conversation says is never run, by the content
 * security policy.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'

/** A new token: 256 bits by chance. */
export const newToken = (): string => randomBytes(32).toString('base64url')

/** Nothing runs and nothing is loaded but what the page itself serves. */
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

/** What every answer says to the browser. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), browsing-topics=()',
  'cache-control': 'no-store',
}

/** The names that this machine calls itself by. */
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]'])

/** Whether a Host header names this very server. */
export function isOwnHost(host: string | undefined, port: number): boolean {
  const [, name = '', at] = /^(\[[0-9a-f:]+\]|[^:]+)(?::(\d+))?$/iu.exec(host ?? '') ?? []
  return LOOPBACK.has(name.toLowerCase()) && Number(at ?? 80) === port
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
/** Whether two secrets are the same, in a time that tells nothing of them. */
export const same = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b))

/** What the guard goes by. */
interface GuardOptions {
  readonly token: string
  /** The port that the server has, once it listens. */
  readonly port: () => number
}

const refused = (context: Context, status: 403 | 405 | 421, sentence: string): Response =>
  context.text(`${sentence}\n`, status, { ...HEADERS })

/**
 * Lets through who knows the token. It is taken from the address once, and kept in a cookie that no script reads and no
 * other site sends.
 */
export function guard({ token, port }: GuardOptions): MiddlewareHandler {
  return async (context, next) => {
    if (!isOwnHost(context.req.header('host'), port())) return refused(context, 421, 'this name is not the page’s own')
    if (context.req.method !== 'GET' && context.req.method !== 'HEAD') return refused(context, 405, 'only GET')
    // Cookies are of a machine and not of a port, and several pages may be open.
    const cookie = `context-ledger-${String(port())}`
    const given = context.req.query('token')
    if (given !== undefined) {
      if (!same(given, token)) return refused(context, 403, NOT_KNOWN)
      setCookie(context, cookie, token, { httpOnly: true, sameSite: 'Strict', path: '/' })
      const address = new URL(context.req.url)
      address.searchParams.delete('token')
      for (const [name, value] of Object.entries(HEADERS)) context.header(name, value)
      return context.redirect(`${address.pathname}${address.search}`, 303)
    }
    if (!same(getCookie(context, cookie) ?? '', token)) return refused(context, 403, NOT_KNOWN)
    return await withHeaders(context, next)
  }
}

/** Answers with what every answer of the page says to the browser. Who may see it was decided before. */
export const withHeaders: MiddlewareHandler = async (context, next) => {
  await next()
  for (const [name, value] of Object.entries(HEADERS)) context.header(name, value)
  return undefined
}

const NOT_KNOWN = 'open the page by the whole address that `context-ledger page` printed: it has a token in it'
