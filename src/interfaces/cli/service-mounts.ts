/** Additional interfaces of `serve`: MCP, and a proxy for agents without ledger support. */
import { LRUCache } from 'lru-cache'
import type { Ledger } from '../../library/ledger.js'
import { createMcp, type Mcp } from '../mcp/create-mcp.js'
import type { BoundTo } from '../mcp/binding.js'
import { createProxy } from '../proxy/create-proxy.js'
import type { ProxyOptions } from '../proxy/proxy-state.js'
import { createBounds, type Access } from '../service/access.js'
import type { Mount } from '../service/app.js'
import { Refused } from '../service/problems.js'

/** A mount that can be closed. */
export interface ClosableMount {
  readonly mount: Mount
  /** Waits until all forwarded requests are recorded. */
  settled?(): Promise<void>
  close(): Promise<void>
}

const CONVERSATION = 'x-context-ledger-conversation'
/** Maximum number of cached MCP servers. */
const MAX_SERVERS = 200

/**
 * MCP over HTTP: `/mcp/conversations/{id}`, `/mcp/scopes/{scope}`, and `/mcp` for the scope of the key, or for
 * conversations without a scope. Tools that write need a key with the role `operate`.
 */
export function mcpMount(ledger: Ledger, version: string, onProblem: (problem: unknown) => void): ClosableMount {
  const bounds = createBounds(ledger)
  const servers = new LRUCache<string, Mcp>({
    max: MAX_SERVERS,
    dispose: (mcp) => {
      void mcp.close().catch(onProblem)
    },
  })

  async function boundTo(pathname: string, access: Access): Promise<BoundTo> {
    const { bound } = access
    const [, kind, name] = /^\/mcp(?:\/(conversations|scopes)\/([^/]+))?\/?$/u.exec(pathname) ?? []
    if (kind === undefined && !/^\/mcp\/?$/u.test(pathname))
      throw new Refused('NoSuchRoute', 'MCP is at /mcp, /mcp/conversations/ID and /mcp/scopes/SCOPE')
    const id = decodePart(name)
    if (kind === 'conversations') {
      await bounds.check(access, id)
      return { conversationId: id }
    }
    if (bound !== undefined && 'prefix' in bound)
      throw new Refused('KeyBound', 'the key is restricted to an id prefix: use /mcp/conversations/ID')
    if (kind === undefined) return { scope: bound?.scope ?? null }
    if (bound !== undefined && bound.scope !== id)
      throw new Refused('KeyBound', 'the key is restricted to another scope')
    return { scope: id }
  }

  return {
    mount: {
      path: '/mcp',
      roles: ['read'],
      keyHeader: 'authorization',
      async fetch(request, access) {
        const bound = await boundTo(new URL(request.url).pathname, access)
        const readOnly = !access.roles.includes('operate')
        const { actor } = access
        const key = JSON.stringify([bound, readOnly, actor])
        const known = servers.get(key)
        const mcp = known ?? createMcp({ ledger, boundTo: bound, actor, version, readOnly, onProblem })
        if (known === undefined) servers.set(key, mcp)
        return await mcp.fetch(request)
      },
    },
    async close() {
      await Promise.all([...servers.values()].map((mcp) => mcp.close()))
    },
  }
}

/**
 * The proxy under `/proxy`: `http://…/proxy/v1` is an agent's base URL. `authorization` is for the upstream;
 * `x-context-ledger-key` has the key of the service. A request with a restricted key must name its conversation. The
 * name is checked here, and the recorder checks each conversation of the request again.
 */
export function proxyMount(options: ProxyOptions): ClosableMount {
  const bounds = createBounds(options.ledger)
  /** One proxy for each scope of new conversations. */
  const proxies = new Map<string, ReturnType<typeof createProxy>>()
  const proxyOf = (scope: string | undefined): ReturnType<typeof createProxy> => {
    const known = proxies.get(scope ?? '')
    if (known !== undefined) return known
    const made = createProxy({ ...options, ...(scope === undefined ? {} : { scope }) })
    proxies.set(scope ?? '', made)
    return made
  }

  return {
    mount: {
      path: '/proxy',
      roles: ['append'],
      keyHeader: 'x-context-ledger-key',
      forwards: true,
      async fetch(request, access, env) {
        const { bound } = access
        if (bound !== undefined) {
          const named = request.headers.get(CONVERSATION)?.trim() ?? ''
          if (named === '')
            throw new Refused(
              'KeyBound',
              `the key is restricted to a part of the ledger: name the conversation in the header ${CONVERSATION}`,
            )
          await bounds.check(access, named, true)
        }
        const url = new URL(request.url)
        url.pathname = url.pathname.slice('/proxy'.length) || '/'
        const { method, headers, body, signal } = request
        const init = { method, headers, signal, ...(body === null ? {} : { body, duplex: 'half' as const }) }
        return await proxyOf(bound !== undefined && 'scope' in bound ? bound.scope : undefined).fetch(
          new Request(url, init),
          {
            ...Object(env),
            caller: {
              actor: access.actor,
              keyId: access.keyId,
              mayUse: (conversationId: string) => bounds.has(access, conversationId, true),
            },
          },
        )
      },
    },
    async settled() {
      await Promise.all([...proxies.values()].map((proxy) => proxy.settled()))
    },
    async close() {
      await Promise.all([...proxies.values()].map((proxy) => proxy.close()))
    },
  }
}

function decodePart(text: string | undefined): string {
  try {
    return decodeURIComponent(text ?? '')
  } catch {
    throw new Refused('BadRequest', 'the address is not percent-encoded UTF-8')
  }
}
