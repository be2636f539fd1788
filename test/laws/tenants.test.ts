/**
 * Tests every way in which a request can reach a conversation, with every kind of key: the log of another tenant never
 * grows, and none of its text is returned.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mcpMount, proxyMount, type ClosableMount } from '../../src/interfaces/cli/service-mounts.js'
import type { Ledger } from '../../src/index.js'
import { openService } from '../../src/library/compose.js'
import { ROLES, type Bound, type Role } from '../../src/ports/service-state.js'
import { routes } from '../../src/schema/index.js'
import type { Route } from '../../src/schema/route.js'
import { createKey } from '../../src/interfaces/service/keys.js'
import { startService, type Server } from '../../src/interfaces/service/server.js'
import { chat, messages, responses } from '../support/upstream-answers.js'
import { startUpstream, type UpstreamStub } from '../support/upstream-stub.js'
import { sessionConversationId } from '../../src/domain/values/session-ids.js'
import { importers } from '../../src/application/importers/index.js'
import { isLong } from '../support/length.js'

const PEPPER = 'a pepper of tests, which is long enough for it'
/** Part of every answer in the other tenants' conversations; the callers never send it. */
const SECRET = 'SECRET-7319'
const QUESTION = 'Which berth has the Ana, and since when?'
const CONVERSATION = 'x-context-ledger-conversation'
const KEY = 'x-context-ledger-key'
/** Long enough for the proxy to recognize it as a summary in a later list. */
const ANSWER = `Berth 7 has been hers since Monday, ${SECRET}, and she stays there until the tide of next week.`

/** Coding agents offer their tools with every turn. */
const SCHEMA = { type: 'object', properties: {} }
const TOOL = { type: 'function', name: 'f', parameters: SCHEMA }
const CHAT_TOOL = { type: 'function', function: { name: 'f', parameters: SCHEMA } }
const AGENT = { model: 'm', max_tokens: 9, tools: [{ name: 'f', input_schema: SCHEMA }] }

type Headers = Readonly<Record<string, string>>

interface World {
  readonly ledger: Ledger
  readonly server: Server
  readonly upstream: UpstreamStub
  readonly mounted: readonly ClosableMount[]
  readonly key: (roles: readonly Role[], bound?: Bound) => Promise<string>
  readonly revoke: (key: string) => Promise<unknown>
}

async function openWorld(mode: 'observe' | 'compact'): Promise<World> {
  const upstream = await startUpstream()
  const { ledger, ...stores } = await openService({ store: 'memory', policy: { modelMaxTokens: 16_000 } })
  const onProblem = (): void => undefined
  const proxied = {
    ledger,
    upstream: upstream.url,
    mode,
    offerMemory: mode === 'compact',
    headWaitMs: 5_000,
    onProblem,
  }
  const mounted = [mcpMount(ledger, '1', onProblem), proxyMount(proxied)]
  let made = 0
  const key: World['key'] = async (roles, bound) => {
    made += 1
    return (await createKey(stores.keys, PEPPER, { name: `k${String(made)}`, roles, bound })).key
  }
  await key(['read'])
  const server = await startService({
    ledger,
    stores,
    pepper: PEPPER,
    host: '127.0.0.1',
    port: 0,
    mayBeOpen: false,
    mounts: mounted.map(({ mount }) => mount),
  })
  return { ledger, server, upstream, mounted, key, revoke: (secret) => stores.keys.revoke(secret.split('_')[1] ?? '') }
}

async function closeWorld({ server, mounted, ledger, upstream }: World): Promise<void> {
  await server.close()
  await Promise.all(mounted.map((each) => each.close()))
  await ledger.close()
  await upstream.close()
}

interface Sent {
  readonly status: number
  /** Status, headers and body. */
  readonly text: string
  /** The conversation that the proxy names in its answer. */
  readonly conversationId: string | null
}

async function send({ server }: World, path: string, headers: Headers, body?: unknown, method = 'POST'): Promise<Sent> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const all = `${JSON.stringify([...response.headers])}\n${text}`
  return { status: response.status, text: all, conversationId: response.headers.get(CONVERSATION) }
}

async function settled({ mounted }: World): Promise<void> {
  for (const each of mounted) await each.settled?.()
}

const asking = (content: string): object => ({ role: 'user', content })
const answered = (content: string): object => ({ role: 'assistant', content })

/** The conversations of other tenants, recorded through the proxy: by a response, by a list, by a session header. */
async function recordVictims(world: World): Promise<void> {
  const { upstream, key } = world
  const prefixed = { [KEY]: await key(ROLES, { prefix: 'a/' }), [CONVERSATION]: 'a/victim' }
  const scoped = { [KEY]: await key(ROLES, { scope: 'a' }), [CONVERSATION]: 'scoped-victim' }
  const unbound = { [KEY]: await key(ROLES) }
  for (const [headers, id] of [
    [prefixed, 'resp_a'],
    [scoped, 'resp_s'],
    [unbound, 'resp_u'],
  ] as const) {
    upstream.answerWith(responses.whole({ id, text: ANSWER }))
    await send(world, '/proxy/v1/responses', headers, { model: 'm', input: QUESTION })
    await settled(world)
  }
  upstream.answerWith(chat.whole({ text: ANSWER }))
  await send(world, '/proxy/v1/chat/completions', unbound, { model: 'm', messages: [asking(QUESTION)] })
  const session = { ...unbound, 'x-claude-code-session-id': 'session-of-a' }
  upstream.answerWith(messages.whole({ text: ANSWER }))
  await send(world, '/proxy/v1/messages', session, { ...AGENT, messages: [asking(QUESTION)] })
  upstream.answerWith(responses.whole({ id: 'resp_c', text: ANSWER }))
  const thread = { ...unbound, 'user-agent': 'codex_cli_rs/0.170.0', 'session-id': 'thread-of-a' }
  await send(world, '/proxy/v1/responses', thread, { model: 'm', input: QUESTION, tools: [TOOL] })
  await settled(world)
}

/** Events of all conversations that exist now, by conversation. */
async function logs(ledger: Ledger): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for await (const item of ledger.admin.follow({ untilHead: true }))
    if (item.kind === 'event') counts.set(item.event.stream, (counts.get(item.event.stream) ?? 0) + 1)
  return counts
}

/** A caller: the headers of its key, and the id of its own conversation. */
interface Caller {
  readonly key: string | undefined
  readonly ownId: string
}

/** A way to a conversation of another tenant. */
type Path = (world: World, caller: Caller) => Promise<readonly Sent[]>

const proxyHeaders = ({ key, ownId }: Caller, more: Headers = {}, isNamed = true): Headers => ({
  ...(key === undefined ? {} : { [KEY]: key }),
  ...(isNamed ? { [CONVERSATION]: ownId } : {}),
  ...more,
})

const RESPONSES = '/proxy/v1/responses'
const CHAT = '/proxy/v1/chat/completions'

/** Posts one request for each set of extra headers and body; with the caller's own conversation named, and without. */
const posts =
  (path: string, requests: readonly (readonly [body: object, headers?: Headers])[], isNamed: boolean): Path =>
  async (world, caller) => {
    const sent: Sent[] = []
    for (const [at, [body, headers]] of requests.entries()) {
      world.upstream.answerWith(
        path === RESPONSES
          ? responses.whole({ id: `resp_x${String(at)}`, text: 'No.' })
          : path === CHAT
            ? chat.whole({ text: 'No.' })
            : messages.whole({ text: 'No.' }),
      )
      sent.push(await send(world, path, proxyHeaders(caller, headers, isNamed), { model: 'm', ...body }))
      await settled(world)
    }
    return sent
  }

const both = (name: string, path: string, requests: Parameters<typeof posts>[1]): (readonly [string, Path])[] => [
  [`${name}, own conversation named`, posts(path, requests, true)],
  [`${name}, no conversation named`, posts(path, requests, false)],
]

const HELD = ['resp_a', 'resp_s', 'resp_u', 'resp_c'] as const
const VICTIMS = ['a/victim', 'scoped-victim'] as const
const SESSION: Headers = { 'x-claude-code-session-id': 'session-of-a' }

const proxyPaths: readonly (readonly [string, Path])[] = [
  ...both(
    'previous_response_id',
    RESPONSES,
    HELD.map((id) => [{ input: 'And now?', previous_response_id: id }]),
  ),
  ...both(
    'item_reference',
    RESPONSES,
    HELD.map((id) => [{ input: [{ type: 'item_reference', id: `msg_${id}` }, asking('And now?')] }]),
  ),
  ...both(
    'conversation of upstream',
    RESPONSES,
    HELD.map((id) => [{ input: 'And now?', conversation: { id } }]),
  ),
  [
    'conversation header',
    posts(
      CHAT,
      [...VICTIMS, ' a/victim', 'b/../a/victim', 'a/victim, b/own'].map((id) => [
        { messages: [asking('And now?')] },
        { [CONVERSATION]: id },
      ]),
      true,
    ),
  ],
  ...both('session header of Claude Code', '/proxy/v1/messages', [
    [{ ...AGENT, messages: [asking('And now?')] }, SESSION],
    [
      { ...AGENT, messages: [asking('And now?')] },
      { ...SESSION, 'x-claude-code-agent-id': 'sub' },
    ],
  ]),
  ...both('thread header of Codex', RESPONSES, [
    [
      { input: 'And now?', tools: [TOOL] },
      { 'user-agent': 'codex_cli_rs/0.170.0', 'session-id': 'thread-of-a' },
    ],
    [
      { input: 'And now?', tools: [TOOL] },
      { 'user-agent': 'codex_cli_rs/0.170.0', 'session-id': 'x', 'x-codex-parent-thread-id': 'thread-of-a' },
    ],
  ]),
  ...both('equal list', CHAT, [
    [{ messages: [asking(QUESTION)] }],
    [{ messages: [asking(QUESTION)] }, { 'x-stainless-retry-count': '1' }],
    [{ messages: [asking(QUESTION), answered(ANSWER.replace(SECRET, 'guessed')), asking('And now?')] }],
  ]),
  ...both('list that begins after a compaction', CHAT, [
    [{ messages: [asking(QUESTION), asking('And now?')], tools: [CHAT_TOOL] }],
    [{ messages: [asking(`Summary: ${ANSWER.replace(SECRET, 'guessed')}`), asking('And now?')], tools: [CHAT_TOOL] }],
  ]),
  [
    'memory_read of --offer-memory',
    async (world, caller) => {
      const calls = [
        { id: 'c1', name: 'memory_read', input: { query: 'berth', conversationId: 'a/victim', scope: 'a' } },
      ]
      world.upstream.answerWith(chat.whole({ calls }), chat.whole({ text: 'No.' }))
      const body = { model: 'm', messages: [asking('Read.')] }
      const before = world.upstream.calls.length
      const sent = await send(world, CHAT, proxyHeaders(caller), body)
      await settled(world)
      // The answer of memory_read is sent upstream, and the model may repeat it.
      const upstream = world.upstream.calls.slice(before).map(({ text }) => text)
      return [{ ...sent, text: sent.text + upstream.join('\n') }]
    },
  ],
]

const bearer = ({ key }: Caller): Headers => (key === undefined ? {} : { authorization: `Bearer ${key}` })
const ofVictim = (path: string, id: string): string =>
  path
    .replace('{conversation}', encodeURIComponent(id))
    .replace('{tool}', 'memory_read')
    .replaceAll(/\{\w+\}/gu, 'x')

/** Reads the beginning of a stream for a moment. */
async function firstBytes({ server }: World, path: string, headers: Headers): Promise<Sent> {
  const abort = new AbortController()
  const response = await fetch(`${server.url}${path}`, { headers, signal: abort.signal })
  if (response.status !== 200 || response.body === null)
    return { status: response.status, text: await response.text(), conversationId: null }
  let text = ''
  const reader = response.body.getReader()
  const timer = setTimeout(() => {
    abort.abort()
  }, 150)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      text += Buffer.from(value).toString('utf8')
    }
  } catch {
    // The time limit has passed.
  }
  clearTimeout(timer)
  return { status: 200, text, conversationId: null }
}

const servicePaths: readonly (readonly [string, Path])[] = [
  [
    'id in the address, every route',
    async (world, caller) => {
      const sent: Sent[] = []
      for (const route of Object.values<Route>(routes).filter(({ reach }) => reach === 'conversation'))
        for (const id of VICTIMS) {
          const path = ofVictim(route.path, id)
          if (route.stream !== undefined) sent.push(await firstBytes(world, `${path}?from=0`, bearer(caller)))
          else {
            const body = route.body === undefined ? undefined : { messages: [asking('Hello')] }
            sent.push(await send(world, path, bearer(caller), body, route.method.toUpperCase()))
          }
        }
      return sent
    },
  ],
  [
    'id or scope in the body',
    async (world, caller) => {
      const bodies: readonly (readonly [string, object])[] = [
        ...VICTIMS.map((conversationId) => ['/v1/search', { query: 'berth', conversationId }] as const),
        ['/v1/search', { query: 'berth', scope: 'a' }],
        ['/v1/search', { query: 'berth' }],
        ['/v1/editions', { conversations: ['a/victim'] }],
        ['/v1/editions/estimates', { conversations: ['a/victim'] }],
        ['/v1/editions/x/comparisons', { conversations: ['a/victim'] }],
        ['/v1/what-if', { conversations: ['a/victim'], policies: [{ name: 'p', settings: {} }] }],
        ['/v1/stats', { conversationId: 'a/victim' }],
      ]
      const sent: Sent[] = []
      for (const [path, body] of bodies) sent.push(await send(world, path, bearer(caller), body))
      return sent
    },
  ],
  [
    'lists, cursors and filters',
    async (world, caller) => {
      const cursor = Buffer.from(JSON.stringify(['a/'])).toString('base64url')
      const sent: Sent[] = []
      for (const query of ['', '?prefix=a/', '?scope=a', '?match=victim', `?cursor=${cursor}`])
        sent.push(await send(world, `/v1/conversations${query}`, bearer(caller), undefined, 'GET'))
      return sent
    },
  ],
  [
    'resume position of the events',
    async (world, caller) => [
      await firstBytes(world, '/v1/events?from=0', bearer(caller)),
      await firstBytes(world, '/v1/events', { ...bearer(caller), 'last-event-id': '0' }),
    ],
  ],
  [
    'idempotency key of another tenant',
    async (world, caller) => [
      await send(
        world,
        `/v1/conversations/${encodeURIComponent(caller.ownId)}/messages`,
        { ...bearer(caller), 'idempotency-key': 'of-a' },
        { messages: [asking('Hello')] },
      ),
    ],
  ],
  [
    'job of another tenant',
    async (world, caller) => {
      const headers = { authorization: `Bearer ${await world.key(ROLES, { prefix: 'a/' })}` }
      const { text } = await send(world, '/v1/conversations/a%2Fvictim/verifications', headers)
      const job = `/v1/jobs/${/"id":"([0-9a-f-]{36})"/u.exec(text)?.[1] ?? ''}`
      return [
        await send(world, job, bearer(caller), undefined, 'GET'),
        await send(world, job, bearer(caller), undefined, 'DELETE'),
        await send(world, '/v1/jobs', bearer(caller), undefined, 'GET'),
      ]
    },
  ],
  [
    'MCP: address, arguments and session',
    async (world, caller) => {
      const sent: Sent[] = []
      const ownPath = encodeURIComponent(caller.ownId)
      for (const path of ['/mcp', '/mcp/scopes/a', '/mcp/conversations/a%2Fvictim', `/mcp/conversations/${ownPath}`])
        for (const [name, more] of [
          ['memory_read', { query: 'berth', conversationId: 'a/victim' }],
          ['conversation_at', { conversationId: 'a/victim' }],
          ['list_conversations', {}],
        ] as const)
          sent.push(
            await send(
              world,
              path,
              {
                ...bearer(caller),
                accept: 'application/json, text/event-stream',
                'mcp-session-id': 'of-a',
                'mcp-protocol-version': '2025-06-18',
              },
              { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: more } },
            ),
          )
      return sent
    },
  ],
]

/** Keys whose requests `npm test` sends on every path: each kind of bound, and none. */
const SOME: ReadonlySet<string> = new Set(['prefix', 'scope', 'read-only', 'unbound'])

/** The result of the requests of one path: the answers, and the logs that grew. */
interface Outcome {
  readonly statuses: readonly number[]
  readonly grown: readonly string[]
  readonly isShown: boolean
}

async function outcomeOf(world: World, path: Path, caller: Caller, victims: ReadonlySet<string>): Promise<Outcome> {
  const before = await logs(world.ledger)
  const sent = await path(world, caller)
  const after = await logs(world.ledger)
  return {
    statuses: [...new Set(sent.map(({ status }) => status))].toSorted((a, b) => a - b),
    grown: [...victims].filter((stream) => after.get(stream) !== before.get(stream)),
    isShown: sent.some(({ text }) => text.includes(SECRET)),
  }
}

describe.each([
  ['observe', [...proxyPaths, ...servicePaths]] as const,
  ...(isLong ? [['compact', proxyPaths] as const] : []),
])('serve --upstream --mode %s', (mode, paths) => {
  let world: World
  let victims: ReadonlySet<string>
  let callers: Readonly<Record<string, Caller>>
  beforeAll(async () => {
    world = await openWorld(mode)
    await recordVictims(world)
    victims = new Set((await logs(world.ledger)).keys())
    const { key } = world
    const revoked = await key(ROLES)
    await world.revoke(revoked)
    callers = {
      'no key': { key: undefined, ownId: 'b/none' },
      prefix: { key: await key(ROLES, { prefix: 'b/' }), ownId: 'b/own' },
      scope: { key: await key(ROLES, { scope: 'b' }), ownId: 'own-of-scope' },
      'one conversation': { key: await key(ROLES, { prefix: 'b/one' }), ownId: 'b/one' },
      'read-only': { key: await key(['read'], { prefix: 'b/' }), ownId: 'b/read' },
      'append-only': { key: await key(['append'], { prefix: 'b/' }), ownId: 'b/append' },
      revoked: { key: revoked, ownId: 'b/revoked' },
      unbound: { key: await key(ROLES), ownId: 'c/own' },
    }
  })
  afterAll(async () => {
    await closeWorld(world)
  })

  it('there are six conversations of other tenants', () => {
    expect(victims.size).toBe(6)
  })

  it.each(paths)('%s', async (name, path) => {
    const row: Record<string, Outcome> = {}
    for (const [kind, caller] of Object.entries(callers).filter(([each]) => isLong || SOME.has(each)))
      row[kind] = await outcomeOf(world, path, caller, victims)
    const { unbound, ...bound } = row
    for (const [kind, outcome] of Object.entries(bound))
      expect([kind, outcome]).toEqual([kind, { ...outcome, grown: [], isShown: false }])
    // A key that is not bound may use every conversation, but an equal list of its own belongs to another one.
    const isOwn = /equal list|after a compaction|own conversation named/u.test(name)
    expect(isOwn ? unbound?.grown : []).toEqual([])
  })
})

/** Every way in which a request begins a conversation with an id that the caller chooses. */
const beginnings: Readonly<Record<string, (world: World, key: string, id: string) => Promise<Sent>>> = {
  append: (world, key, id) =>
    send(world, ofVictim('/v1/conversations/{conversation}/messages', id), bearer({ key, ownId: id }), {
      messages: [asking('Mine.')],
    }),
  observation: (world, key, id) =>
    send(world, ofVictim('/v1/conversations/{conversation}/observations', id), bearer({ key, ownId: id }), {
      observation: { program: 'codex', messages: [asking('Mine.')] },
    }),
  compression: (world, key, id) =>
    send(world, ofVictim('/v1/conversations/{conversation}/compressions', id), bearer({ key, ownId: id }), {
      messages: [asking('Mine.')],
    }),
  proxy: async (world, key, id) => {
    world.upstream.answerWith(chat.whole({ text: 'No.' }))
    const sent = await send(world, CHAT, proxyHeaders({ key, ownId: id }), { model: 'm', messages: [asking('Mine.')] })
    await settled(world)
    return sent
  },
}

/** A push of the session `s1` of a program. */
const push = (world: World, key: string, program: string): Promise<Sent> =>
  send(world, '/v1/transcripts', bearer({ key, ownId: '' }), {
    upload: program,
    offset: 0,
    program,
    items: [
      { kind: 'conversation', sourceId: 's1', where: { file: 'a.jsonl' } },
      {
        kind: 'message',
        sourceId: 'm1',
        part: 0,
        body: { role: 'user', content: 'Which berth?' },
        where: { file: 'a.jsonl' },
      },
    ],
  })

describe('the ids of a program’s sessions in one scope', () => {
  const SCOPES = ['a', 'a/b', '\u4E2D'.repeat(60)]
  const programs = importers.map(({ program }) => program).filter((_each, at) => isLong || at % 8 === 0)

  it('are begun by no key of another scope or of a prefix, and the session is pushed after all attempts', async () => {
    const world = await openWorld('observe')
    const strangers = [
      await world.key(ROLES, { scope: 'b' }),
      await world.key(ROLES, { prefix: 'c' }),
      await world.key(ROLES, { prefix: 'proxy/' }),
    ]
    const begunByOthers: unknown[] = []
    const refused: unknown[] = []
    for (const program of programs)
      for (const scope of SCOPES) {
        const id = sessionConversationId(program, 's1', scope)
        for (const [name, begin] of Object.entries(beginnings))
          for (const [at, stranger] of strangers.entries()) {
            const { status } = await begin(world, stranger, id)
            if (status !== 403 && status !== 404) begunByOthers.push([id, name, at, status])
          }
        const answer = await push(world, await world.key(ROLES, { scope }), program)
        if (answer.status !== 200 || !answer.text.includes(JSON.stringify(id))) refused.push([id, answer])
      }
    expect({ begun: begunByOthers, refused }).toEqual({ begun: [], refused: [] })
    await closeWorld(world)
  })

  it('that have no scope are begun by no key of a scope, and a key of a scope begins its own', async () => {
    const world = await openWorld('observe')
    const scoped = await world.key(ROLES, { scope: 'b' })
    const wrong: unknown[] = []
    for (const program of [...programs, 'proxy'])
      for (const [name, begin] of Object.entries(beginnings)) {
        if ((await begin(world, scoped, `${program}/s1`)).status < 400) wrong.push([program, name, 'begun'])
        const idOfScope = sessionConversationId(program, `of-${name}`, 'b')
        if (name !== 'compression' && (await begin(world, scoped, idOfScope)).status !== 200)
          wrong.push([idOfScope, 'refused'])
      }
    for (const program of programs) {
      const answer = await push(world, await world.key(ROLES), program)
      if (answer.status !== 200) wrong.push([program, answer])
    }
    expect(wrong).toEqual([])
    await closeWorld(world)
  })
})
