/** Messages and contexts over HTTP: revisions as ETags, requests that come twice, pages, and what is refused. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startTestService, type TestService } from '../support/service.js'
import { say, talk } from '../support/conversations.js'

let at: TestService
beforeAll(async () => {
  at = await startTestService()
})
afterAll(async () => {
  await at.close()
})

const kindOf = ({ status, body }: { status: number; body: { kind?: string } }): readonly unknown[] => [
  status,
  body.kind,
]

describe('an append', () => {
  it('is recorded, and read as it came, with the revision as the ETag', async () => {
    const message = {
      id: 'm1',
      role: 'assistant',
      content: [{ zeta: 1, type: 'reasoning', alpha: { b: 1, a: 2 } }],
      provider_field: { y: 1, x: 2 },
    }
    const appended = await at.append('first', [{ role: 'user', content: 'hello' }, message])
    expect(appended.body).toMatchObject({ conversationId: 'first', revision: '2', position: expect.any(String) })
    expect(appended.headers.get('etag')).toBe('"2"')
    const context = await at.ask('/v1/conversations/first/context')
    expect(context.headers.get('etag')).toBe('"2"')
    // Signatures hang on bytes: keys stay in their order.
    expect(JSON.stringify(context.body.messages[1].content)).toBe(JSON.stringify(message.content))
    expect(JSON.stringify(context.body.messages[1].provider_field)).toBe('{"y":1,"x":2}')
    const cached = await at.ask('/v1/conversations/first/context', { headers: { 'if-none-match': '"2"' } })
    expect([cached.status, cached.body]).toEqual([304, ''])
  })

  it('at another revision than expected is refused with both, and records nothing', async () => {
    await at.append('expected', [say(0)])
    const stale = await at.append('expected', [say(1)], { headers: { 'if-match': '"0"' } })
    expect(stale.body).toMatchObject({ status: 412, kind: 'RevisionNotExpected', expected: '0', actual: '1' })
    expect(kindOf(await at.append('expected', [say(1)], { headers: { 'if-none-match': '*' } }))).toEqual([
      412,
      'RevisionNotExpected',
    ])
    expect((await at.append('expected', [say(1)], { headers: { 'if-match': '"1"' } })).body.revision).toBe('2')
    expect((await at.append('brand-new', [say(1)], { headers: { 'if-none-match': '*' } })).status).toBe(200)
    expect(kindOf(await at.append('nobody', [say(1)], { headers: { 'if-match': '"4"' } }))).toEqual([
      412,
      'RevisionNotExpected',
    ])
    expect((await at.ask('/v1/conversations/nobody')).status).toBe(404)
  })

  it('with a key that comes twice is recorded once, and answered the same; also where others came in between', async () => {
    const messages = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
    ]
    const headers = { 'idempotency-key': 'turn-1', 'if-none-match': '*' }
    const first = await at.append('twice', messages, { headers })
    await at.append('twice', [say(9)])
    const second = await at.append('twice', messages, { headers })
    expect(second.body).toEqual(first.body)
    expect(second.headers.get('etag')).toBe(first.headers.get('etag'))
    expect((await at.ask('/v1/conversations/twice/messages')).body.messages).toHaveLength(3)
  })

  it('with a key that stood for something else is refused, and records nothing', async () => {
    const messages = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
    ]
    const headers = { 'idempotency-key': 'turn-1' }
    await at.append('reused', messages, { headers })
    for (const query of [
      [{ role: 'user', content: 'other' }],
      [messages[0] ?? {}],
      [...messages, { role: 'user', content: 'more' }],
    ])
      expect(kindOf(await at.append('reused', query, { headers }))).toEqual([409, 'IdempotencyKeyReused'])
    expect((await at.ask('/v1/conversations/reused/messages')).body.messages).toHaveLength(2)
  })

  it('that the ledger refuses is a problem with its field and its kind', async () => {
    expect((await at.append('refused', [{ role: 'user' }])).body).toMatchObject({
      status: 400,
      kind: 'BadMessage',
      type: 'urn:context-ledger:problem:BadMessage',
      field: 'content',
    })
    expect((await at.append('refused', [{ role: 'robot', content: 'x' }])).body.field).toBe('messages.0.role')
    expect(kindOf(await at.append('refused', [{ role: 'tool', tool_call_id: 'none', content: 'x' }]))).toEqual([
      409,
      'ToolResultWithoutCall',
    ])
    await at.append('refused', [say(0)])
    expect(kindOf(await at.append('refused', [say(0, { content: 'other' })]))).toEqual([409, 'MessageIdTaken'])
    expect(kindOf(await at.append('bad\u0000id', [say(0)]))).toEqual([400, 'BadId'])
    expect((await at.ask('/v1/conversations/refused/messages')).body.messages).toHaveLength(1)
  })
})

it('an id with any characters is one part of the address', async () => {
  for (const id of ['a/b', 'ü %41?#&', 'with space', '100%', '%2F', 'ends.']) {
    expect((await at.append(id, [say(0)])).body.conversationId).toBe(id)
    expect((await at.ask(`/v1/conversations/${encodeURIComponent(id)}`)).body.conversationId).toBe(id)
  }
})

it('pages of messages are of one moment, whatever comes meanwhile', async () => {
  await at.append('paged', talk(7))
  const ids: string[] = []
  let next: string | undefined
  do {
    const query = next === undefined ? '' : `&cursor=${next}`
    const { body } = await at.ask(`/v1/conversations/paged/messages?limit=3${query}`)
    ids.push(...body.messages.map(({ messageId }: { messageId: string }) => messageId))
    ;({ next } = body)
    await at.append('paged', [{ role: 'user', content: `meanwhile ${ids.length}` }])
  } while (next !== undefined)
  expect(ids).toEqual(talk(7).map(({ id }) => id))
})

it('pages of conversations have each that was there all the while exactly once', async () => {
  for (let number = 0; number < 9; number += 1) await at.append(`page-${String(number)}`, [say(0)])
  const ids: string[] = []
  let next: string | undefined
  do {
    const query = next === undefined ? '' : `&cursor=${next}`
    const { status, body } = await at.ask(`/v1/conversations?prefix=page-&limit=2${query}`)
    expect([status, body.detail]).toEqual([200, undefined])
    ids.push(...body.conversations.map(({ conversationId }: { conversationId: string }) => conversationId))
    ;({ next } = body)
    // The others move to the front of the list by time, and new ones come.
    await at.append(`page-${String(ids.length % 9)}`, [say(ids.length)])
    await at.append(`page-0-${String(ids.length)}`, [say(0)])
  } while (next !== undefined)
  expect(ids.filter((id) => /^page-\d$/u.test(id))).toEqual(
    Array.from({ length: 9 }, (_none, number) => `page-${String(number)}`),
  )
  expect(new Set(ids).size).toBe(ids.length)
})

it('pins, undoes, searches, explains and tells what changed', async () => {
  const policy = { modelMaxTokens: 1_000, chunkSize: 3, chunkMinTokens: 0, keepRecent: 2, maxSummaryTokens: 16 }
  await at.ask('/v1/conversations/long/messages', { body: { messages: talk(14), policy } })
  expect((await at.ask('/v1/conversations/long/pins/m1', { method: 'PUT' })).status).toBe(204)
  const compacted = await at.ask('/v1/conversations/long/compactions', {
    body: { force: true },
    headers: { prefer: 'wait=30' },
  })
  expect(compacted.body).toMatchObject({ kind: 'compact', state: 'succeeded', conversationId: 'long' })
  const cycles = await at.ask('/v1/conversations/long/compactions')
  expect(cycles.body.compactions[0]).toMatchObject({ kind: 'pruned', cycle: 1 })
  expect((await at.ask('/v1/conversations/long/diff?cycle=1')).body.conversationId).toBe('long')
  expect((await at.ask('/v1/conversations/long/explanations', { body: {} })).body.kind).toBe('view')
  expect((await at.ask('/v1/search', { body: { query: 'berth', conversationId: 'long' } })).body.hits).not.toEqual([])
  expect((await at.ask('/v1/conversations/long/forgotten')).body.cycles).not.toEqual([])
  expect((await at.ask('/v1/conversations/long/stats')).status).toBe(200)
  expect((await at.ask('/v1/conversations/long/pins/m1', { method: 'DELETE' })).status).toBe(204)
  const last = cycles.body.compactions.filter(({ kind }: { kind: string }) => kind === 'pruned').length
  expect((await at.ask('/v1/conversations/long/undo', { body: { cycle: last } })).status).toBe(200)
  const facts: { revision: string }[] = []
  let next: string | undefined
  do {
    const query = next === undefined ? '' : `&cursor=${next}`
    const { body } = await at.ask(`/v1/conversations/long/log?limit=7${query}`)
    facts.push(...body.facts)
    ;({ next } = body)
  } while (next !== undefined)
  expect(facts.map(({ revision }) => revision)).toEqual(facts.map((_fact, place) => String(place)))
  const proof = await at.ask('/v1/conversations/long/verifications', { method: 'POST', headers: { prefer: 'wait=30' } })
  expect(proof.body).toMatchObject({ state: 'succeeded', result: { ok: true } })
})
