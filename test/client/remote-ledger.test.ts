/**
 * A remote ledger returns the same results and failures as the local one, and a client continues after a disconnect.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createServer, type RequestListener, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openRemoteLedger, createClient } from '../../src/interfaces/client/index.js'
import { openService } from '../../src/library/compose.js'
import type { Ledger, RecordedEvent, RuleCheck } from '../../src/index.js'
import { kindOf } from '../../src/library/problem.js'
import { startService, type Server } from '../../src/interfaces/service/server.js'
import { createKey } from '../../src/interfaces/service/keys.js'
import { talk } from '../support/conversations.js'

const PEPPER = 'a pepper of tests, which is long enough for it'
const ID = 'run 7/é'

let ledger: Ledger
let server: Server
let remote: Ledger

beforeAll(async () => {
  const { ledger: opened, ...stores } = await openService({ store: 'memory', policy: { modelMaxTokens: 2_000 } })
  ledger = opened
  server = await startService({ ledger, stores, pepper: PEPPER, host: '127.0.0.1', port: 0, mayBeOpen: true })
  remote = openRemoteLedger({ url: server.url })
  for (const message of talk(60)) {
    await remote.append(ID, { ...message, attributes: { revision: '12', at: '7' } })
    await ledger.admin.waitForCompaction()
  }
  await remote.append('other', { id: 'only', role: 'user', content: [{ type: 'text', text: 'hi', position: '3' }] })
})

afterAll(async () => {
  await remote.close()
  await server.close()
  await ledger.close()
})

const all = async <T>(from: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = []
  for await (const each of from) found.push(each)
  return found
}

/** What a call gives, or why it says no. */
async function outcome(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call()
  } catch (error) {
    return { kind: kindOf(error), message: String(error) }
  }
}

type Call = (of: Ledger) => Promise<unknown>
const READS: Readonly<Record<string, Call>> = {
  context: (of) => of.context(ID),
  'context at a moment': (of) => of.context(ID, { at: 20 }),
  'context through another view': (of) => of.context(ID, { view: 'session-summary' }),
  messages: (of) => of.messages(ID),
  'messages at an instant': async (of) => of.messages(ID, { at: (await of.messages(ID)).recordedAt }),
  'messages whose fields have our names': (of) => of.messages('other'),
  log: (of) => all(of.log(ID)),
  'log backwards from a revision': (of) => all(of.log(ID, { from: 30, limit: 7, direction: 'backwards' })),
  'diff of a cycle': (of) => of.diff(ID, { cycle: 1 }),
  'diff between moments': (of) => of.diff(ID, { from: 3, to: 40 }),
  explain: (of) => of.explain(ID),
  'explain a line': (of) => of.explain(ID, { line: 'messages compressed', open: true }),
  forgotten: (of) => of.forgotten(ID),
  recall: (of) => of.recall(ID),
  'recall at a revision': (of) => of.recall(ID, { at: 40, tokens: 300, rules: ['Answer in French.'] }),
  'recall at a time': async (of) => of.recall(ID, { at: new Date((await of.messages(ID, { at: 40 })).recordedAt) }),
  'forgotten in all': (of) => of.forgotten(),
  'rules with those of a file': (of) =>
    of.rules.list(ID, { files: [{ name: 'AGENTS.md', text: 'Never run `git push`.' }] }),
  'confirmed rules': async (of) => {
    await of.rules.add(ID, 'Never run `npm publish`.', { scope: 'everywhere' })
    return await of.rules.confirmed({ project: '/srv' })
  },
  'rules of nowhere': (of) => of.rules.list('nowhere'),
  'a check of rules': async (of) => {
    const checks: RuleCheck[] = []
    const onConversation = (check: RuleCheck): void => {
      checks.push(check)
    }
    return { totals: await of.rules.check(ID, { since: '2026-01-01T00:00:00Z', onConversation }), checks }
  },
  'a check of the rules of all': (of) => of.rules.check(),
  'a rule that does not exist': (of) => of.rules.confirm(ID, 'r9.9'),
  'an empty rule': (of) => of.rules.add(ID, '  '),
  stats: (of) => of.admin.stats(ID, { prices: {} }),
  'stats of all': (of) => of.admin.stats(),
  list: (of) => of.list(),
  totals: (of) => of.totals(),
  'totals by program': (of) => of.totals({ by: ['program'], limit: 1 }),
  'list by id': (of) => of.list({ sort: 'id' }),
  'list by words': (of) => of.list({ grep: 'harbour' }),
  'list by messages': (of) => of.list({ sort: 'messages', limit: 1 }),
  'list behind an id': (of) => of.list({ sort: 'id', after: 'other' }),
  search: (of) => of.search('harbour', { conversationId: ID }),
  verify: (of) => of.admin.verify(ID),
  'verify all': (of) => of.admin.verify(),
  identity: (of) => of.admin.identity(),
  prompts: (of) => of.admin.prompts.list(),
  'projections.status': (of) => of.admin.projections.status(),
  'projections.catchUp': (of) => of.admin.projections.catchUp(),
  editions: (of) => of.editions.list(),
  estimate: (of) => of.editions.estimate({ conversations: [ID] }),
  whatIf: (of) => of.editions.whatIf([ID], { policies: [{ name: 'wide', settings: { modelMaxTokens: 4_000 } }] }),
  memory_read: async (of) => await of.conversation(ID).tools.list[0]?.execute({ query: 'harbour' }),
  'a tool with wrong arguments': async (of) => await of.conversation(ID).tools.list[0]?.execute('{"query":""}'),
}

const REFUSED: Readonly<Record<string, Call>> = {
  'no such conversation': (of) => of.context('nobody'),
  'no such cycle': (of) => of.diff(ID, { cycle: 99 }),
  'no cycle and no moment': (of) => of.diff(ID, JSON.parse('{}')),
  'a cycle with a moment': (of) => of.diff(ID, JSON.parse('{"cycle":1,"to":3}')),
  'an adoption in no conversation': (of) => of.editions.adopt('nobody', 'feed'),
  'no such cycle to undo': (of) => of.editions.undo(ID, { cycle: 99 }),
  'no such edition': (of) => of.editions.show('feed'),
  'no such prompt': (of) => of.admin.prompts.show('feed'),
  'a message that is none': (of) => of.append(ID, JSON.parse('{"role":"user","content":7}')),
  'the same id with other content': (of) => of.append('other', { id: 'only', role: 'user', content: 'else' }),
  'a list by time behind an id': (of) => of.list({ after: 'other' }),
  'another revision than expected': (of) => of.append('other', { role: 'user', content: 'x' }, { expectedRevision: 0 }),
  'a new conversation that is there': (of) =>
    of.append('other', { role: 'user', content: 'x' }, { expectedRevision: -1 }),
  'an amendment of what is not said': (of) => of.amend('other', { withdraw: ['nothing'] }),
  'an amendment of another moment': (of) => of.amend('other', { withdraw: 'all', expectedRevision: 0 }),
  'a policy that is none': (of) => of.append(ID, { role: 'user', content: 'x' }, { policy: { keepRecent: -1 } }),
  'a moment that is none': (of) => of.context(ID, { at: 'no-such-message' }),
}

describe('a ledger behind a service', () => {
  it.each(Object.entries(READS))('%s: as the ledger itself', async (_name, call) => {
    // JSON drops undefined fields. The remaining fields are equal, bigints included.
    expect(await outcome(() => call(remote))).toEqual(await outcome(() => call(ledger)))
  })

  it.each(Object.entries(REFUSED))('%s: refused in the same words', async (_name, call) => {
    const localOutcome = await outcome(() => call(ledger))
    expect(localOutcome).toMatchObject({ kind: expect.any(String), message: expect.any(String) })
    expect(await outcome(() => call(remote))).toEqual(localOutcome)
  })

  it('compacts, undoes, pins, replays, compares, adopts and reverts', async () => {
    const id = 'operated'
    for (const message of talk(24)) await remote.append(id, message)
    await remote.admin.waitForCompaction(id)
    const forced = await remote.compact(id, { force: true })
    expect(forced.failure).toBeUndefined()
    const { messages } = await remote.messages(id)
    await remote.conversation(id).pin(messages.at(-1)?.messageId ?? '')
    await remote.conversation(id).unpin(messages.at(-1)?.messageId ?? '')
    const progress: unknown[] = []
    const replayed = await remote.editions.replay({
      conversations: [id],
      policy: { keepRecent: 3 },
      onProgress: (each) => progress.push(each),
    })
    const compared = await remote.editions.compare([id], replayed.editionId)
    expect(compared.conversations).toHaveLength(1)
    const adopted = await remote.editions.adopt(id, replayed.editionId, { policy: { keepRecent: 3 } })
    expect(typeof adopted.revision).toBe('number')
    expect((await remote.editions.show(replayed.editionId)).conversations).toEqual(
      (await ledger.editions.show(replayed.editionId)).conversations,
    )
    const reverted = await remote.editions.revert(id)
    expect(reverted.revision > adopted.revision).toBe(true)
    expect(await remote.editions.drop(id, replayed.editionId)).toMatchObject({ changed: true })
    await remote.admin.projections.rebuild('all')
    expect((await remote.admin.verify(id)).ok).toBe(true)
  })

  it('compresses the list of a host, and hands it back where the service is gone', async () => {
    const history = talk(12)
    const compressed = await remote.compress(history, 'host')
    expect(compressed.error).toBeUndefined()
    expect((await ledger.messages('host')).messages).toHaveLength(12)
    const unreachable = openRemoteLedger({ url: 'http://127.0.0.1:1', retries: 0 })
    expect(await unreachable.compress(history, 'host')).toMatchObject({ history, error: { kind: 'StoreUnavailable' } })
  })

  it('takes messages back and says others', async () => {
    await remote.append('amended', talk(3))
    await remote.amend('amended', { withdraw: ['m2'], append: [{ id: 'n', role: 'user', content: 'else' }] })
    const { messages } = await ledger.messages('amended')
    expect(messages.map(({ messageId }) => messageId)).toEqual(['m0', 'm1', 'n'])
  })

  it('follows what is recorded from a position on', async () => {
    const stop = new AbortController()
    const { position = 0 } = await remote.append('followed', { role: 'user', content: 'one' })
    const followed: RecordedEvent[] = []
    for await (const each of remote.admin.follow({ after: position - 2, signal: stop.signal })) {
      if (each.kind !== 'event') continue
      followed.push(each.event)
      if (followed.length === 1) await remote.append('followed', { role: 'user', content: 'two' })
      if (followed.at(-1)?.type === 'MessageAppended' && followed.length > 2) stop.abort()
    }
    const recorded = await all(ledger.log('followed'))
    expect(followed.filter(({ stream }) => stream.endsWith('-followed'))).toEqual(recorded)
  })

  it('rejects what a service does not offer, and every call after it was closed', async () => {
    await expect(remote.transcripts.import('x.jsonl')).rejects.toMatchObject({
      kind: 'BadInput',
      details: { field: 'transcripts.import' },
    })
    await expect(remote.admin.verify(undefined, { onStream: () => Promise.resolve() })).rejects.toMatchObject({
      details: { field: 'a manifest' },
    })
    const second = openRemoteLedger({ url: server.url })
    await second.close()
    await expect(second.context(ID)).rejects.toThrow('the ledger is closed')
  })
})

describe('who asks', () => {
  const me = { actor: 'somebody else' }
  it.each<[string, Call]>([
    ['append', (of) => of.append(ID, talk(1), me)],
    ['amend', (of) => of.amend(ID, { withdraw: [], ...me })],
    ['observe', (of) => of.transcripts.observe(ID, { program: 'p' }, me)],
    ['pin', (of) => of.conversation(ID).pin('m59', me)],
    ['unpin', (of) => of.conversation(ID).unpin('m59', me)],
    ['compact', (of) => of.compact(ID, me)],
    ['undo', (of) => of.editions.undo(ID, { cycle: 1, ...me })],
    ['conversation', async (of) => of.conversation(ID, me)],
    ['replay', (of) => of.editions.replay({ conversations: [ID], ...me })],
    ['compare', (of) => of.editions.compare([ID], 'e', me)],
    ['adopt', (of) => of.editions.adopt(ID, 'e', me)],
    ['revert', (of) => of.editions.revert(ID, undefined, me)],
    ['drop', (of) => of.editions.drop(ID, 'e', me)],
  ])('is known by the key: %s takes no other name', async (_name, call) => {
    await expect(call(remote)).rejects.toMatchObject({
      kind: 'BadInput',
      details: { field: 'actor' },
      message: expect.stringContaining('the name of the key'),
    })
  })

  it('is known by the key: compress hands the list back and says so', async () => {
    const { history, error } = await remote.compress(talk(2), 'by-another', me)
    expect([history, error?.kind]).toEqual([talk(2), 'BadInput'])
    await expect(all(remote.log('by-another'))).rejects.toMatchObject({ kind: 'NoSuchConversation' })
  })
})

describe('an evaluation', () => {
  it('is refused: its candidates have models and keys of their own', async () => {
    const request = { conversations: [ID], candidates: [{ name: 'extractive', summarizer: 'extractive' as const }] }
    for (const call of [remote.editions.evaluate(request), remote.editions.estimateEvaluation(request)])
      await expect(call).rejects.toMatchObject({
        kind: 'BadInput',
        message: expect.stringContaining('evaluate on the machine of the store'),
      })
  })
})

describe('options that are wrong', () => {
  it.each([
    [{ url: 'ftp://x' }, 'http or https'],
    [{ url: '' }, 'http or https'],
    [{ url: 'http://user:pass@x' }, 'password'],
    [{ url: 'http://x', key: 'a\nb' }, 'visible'],
    [{ url: 'http://x', timeoutMs: Number.NaN }, 'timeoutMs'],
    [{ url: 'http://x', retries: -1 }, 'retries'],
    [{ url: 'http://x', fetch: JSON.parse('7') }, 'fetch'],
  ])('%j', (given, said) => {
    expect(() => createClient(given)).toThrow(said)
  })
})

describe('the way to a service', () => {
  const withServer = async (answer: RequestListener, ask: (url: string) => Promise<void>): Promise<void> => {
    const http: HttpServer = createServer(answer)
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    try {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
      await ask(`http://127.0.0.1:${String((http.address() as AddressInfo).port)}`)
    } finally {
      http.closeAllConnections()
      http.close()
    }
  }

  it('is gone on behind a connection that breaks: an append is recorded once', async () => {
    let requests = 0
    async function passOn(
      { url = '', headers }: Parameters<RequestListener>[0],
      body: Buffer,
      response: Parameters<RequestListener>[1],
    ): Promise<void> {
      const answer = await fetch(`${server.url}${url}`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', 'idempotency-key': String(headers['idempotency-key']) },
      })
      const text = await answer.text()
      // The answer of the first one is lost on its way.
      if (requests === 1) response.destroy()
      else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
    }
    await withServer(
      (request, response) => {
        requests += 1
        const parts: Buffer[] = []
        request.on('data', (part: Buffer) => parts.push(part))
        request.on('end', () => {
          void passOn(request, Buffer.concat(parts), response)
        })
      },
      async (url) => {
        const through = openRemoteLedger({ url })
        const { recorded } = await through.append('cut', { role: 'user', content: 'once' })
        expect(recorded).toHaveLength(1)
        expect(requests).toBe(2)
        expect((await ledger.messages('cut')).messages).toHaveLength(1)
      },
    )
  })

  it('that hangs, or leads elsewhere, is told in a sentence', async () => {
    await withServer(
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
      },
      async (url) => {
        await expect(createClient({ url }).calls.getLedger({})).rejects.toMatchObject({ kind: 'NotAService' })
      },
    )
    await withServer(
      () => undefined,
      async (url) => {
        const identity = createClient({ url, timeoutMs: 100, retries: 0 }).calls.getLedger({})
        await expect(identity).rejects.toMatchObject({ kind: 'ServiceUnreachable' })
      },
    )
  })

  it('of a later version reports kinds that this client does not know', async () => {
    const later = { kind: 'MoonTooFull', detail: 'wait for another moon', fault: 'state', moon: 'full' }
    await withServer(
      (_request, response) => {
        response.writeHead(423, { 'content-type': 'application/problem+json' }).end(JSON.stringify(later))
      },
      async (url) => {
        await expect(createClient({ url }).calls.getLedger({})).rejects.toMatchObject({
          kind: 'UnknownKind',
          fault: 'state',
          status: 423,
          message: 'wait for another moon',
          details: { kind: 'MoonTooFull', moon: 'full' },
        })
      },
    )
  })

  it('takes a key: without it, and beyond its roles, it is refused', async () => {
    const { ledger: keyed, ...stores } = await openService({ store: 'memory' })
    await keyed.append(ID, talk(2))
    const { key } = await createKey(stores.keys, PEPPER, { name: 'reader', roles: ['read'], bound: undefined })
    const guarded = await startService({
      ledger: keyed,
      stores,
      pepper: PEPPER,
      host: '127.0.0.1',
      port: 0,
      mayBeOpen: false,
    })
    try {
      const without = openRemoteLedger({ url: guarded.url })
      expect(await outcome(() => without.context(ID))).toMatchObject({ kind: 'KeyMissing' })
      const reading = openRemoteLedger({ url: guarded.url, key })
      expect(await outcome(() => reading.context(ID))).toEqual(await outcome(() => keyed.context(ID)))
      await expect(reading.append(ID, { role: 'user', content: 'x' })).rejects.toThrow('role append')
      const error = await createClient({ url: guarded.url, key: 'nonsense' })
        .calls.getLedger({})
        .catch((caught: unknown) => caught)
      expect(error).toMatchObject({ name: 'LedgerError', kind: 'KeyRefused', status: 401 })
    } finally {
      await guarded.close()
      await keyed.close()
    }
  })
})
