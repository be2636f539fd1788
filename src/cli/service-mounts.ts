/** The other ways in that `serve` has below its own address: MCP, and a proxy for agents that know no ledger. */
import { LRUCache } from 'lru-cache'
import type { Ledger } from '../library/ledger.js'
import { createMcp, type Mcp } from '../mcp/create-mcp.js'
import type { BoundTo } from '../mcp/binding.js'
import { createProxy, type ProxyOptions } from '../proxy/create-proxy.js'
import { createBounds, type Access } from '../service/access.js'
import type { Mount } from '../service/app.js'
import { Refused } from '../service/problems.js'

/** A mount, and what ends it. */
export interface EndedMount {
  readonly mount: Mount
  /** Waits until what passed is recorded. */
  settled?(): Promise<void>
  close(): Promise<void>
}

const CONVERSATION = 'x-context-ledger-conversation'
/** Servers of MCP that are kept; one is made anew in no time. */
const SERVERS = 200

/**
 * MCP over HTTP: `/mcp/conversations/{id}`, `/mcp/scopes/{scope}`, and `/mcp` for the key's own scope, or for the
 * conversations that name none. A key with the role operate has the tools that record something.
 */
export function mcpMount(ledger: Ledger, version: string, onProblem: (problem: unknown) => void): EndedMount {
  const bounds = createBounds(ledger)
  const servers = new LRUCache<string, Mcp>({
    max: SERVERS,
    dispose: (mcp) => {
      void mcp.close().catch(onProblem)
    },
  })

  async function boundTo(pathname: string, access: Access): Promise<BoundTo> {
    const { bound } = access
    const [, kind, name] = /^\/mcp(?:\/(conversations|scopes)\/([^/]+))?\/?$/u.exec(pathname) ?? []
    if (kind === undefined && !/^\/mcp\/?$/u.test(pathname))
      throw new Refused('NoSuchRoute', 'MCP is at /mcp, /mcp/conversations/ID and /mcp/scopes/SCOPE')
    const id = decoded(name)
    if (kind === 'conversations') {
      await bounds.check(access, id)
      return { conversationId: id }
    }
    if (bound !== undefined && 'prefix' in bound)
      throw new Refused('KeyBound', 'the key is bound to a prefix of ids: name a conversation, /mcp/conversations/ID')
    if (kind === undefined) return { scope: bound?.scope ?? null }
    if (bound !== undefined && bound.scope !== id) throw new Refused('KeyBound', 'the key is bound to another scope')
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
 * The proxy below `/proxy`: `http://…/proxy/v1` is an agent's base URL. `authorization` is the upstream's; the key of the
 * service comes as `x-context-ledger-key`. Lists that are alike are taken for one conversation, whoever sends them, so a
 * key that is bound has to name its conversation.
 */
export function proxyMount(options: ProxyOptions): EndedMount {
  const bounds = createBounds(options.ledger)
  /** One for each scope that conversations begin in. */
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
      async fetch(request, access, env) {
        const { bound } = access
        if (bound !== undefined) {
          const named = request.headers.get(CONVERSATION)?.trim() ?? ''
          if (named === '')
            throw new Refused(
              'KeyBound',
              `the key is bound to a part of the ledger: name the conversation by ${CONVERSATION}`,
            )
          await bounds.check(access, named, true)
        }
        const url = new URL(request.url)
        url.pathname = url.pathname.slice('/proxy'.length) || '/'
        const { method, headers, body, signal } = request
        const within = { method, headers, signal, ...(body === null ? {} : { body, duplex: 'half' as const }) }
        return await proxyOf(bound !== undefined && 'scope' in bound ? bound.scope : undefined).fetch(
          new Request(url, within),
          { ...Object(env), actor: access.actor },
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

function decoded(text: string | undefined): string {
  try {
    return decodeURIComponent(text ?? '')
  } catch {
    throw new Refused('BadRequest', 'the address is not percent-encoded UTF-8')
  }
}
