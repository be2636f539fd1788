/**
 * Events are streamed in order, each once, and resumed from the client's last event. A client that does not read holds
 * up no other client.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { openService } from '../../src/library/compose.js'
import { startService, type Server } from '../../src/interfaces/service/server.js'
import type { Ledger } from '../../src/library/ledger.js'
import { ROLES } from '../../src/ports/service-state.js'
import { createKey } from '../../src/interfaces/service/keys.js'
import { cloudEvent } from '../../src/schema/answers/cloud-event.js'
import { connect } from 'node:net'
import { once } from 'node:events'
import { say } from '../support/conversations.js'
import { longTest } from '../support/length.js'
import { PEPPER } from '../support/service.js'
import { z } from 'zod'

let ledger: Ledger
let server: Server
let revoke: (key: string) => Promise<unknown>
const keys: Record<string, string> = {}

beforeAll(async () => {
  const { ledger: opened, ...stores } = await openService({ store: 'memory' })
  ledger = opened
  revoke = (key) => stores.keys.revoke(key.split('_')[1] ?? '')
  for (const [name, bound] of [
    ['all', undefined],
    ['us', { scope: 'us' }],
    ['revoked', undefined],
  ] as const)
    keys[name] = (await createKey(stores.keys, PEPPER, { name, roles: ROLES, bound })).key
  server = await startService({
    ledger,
    stores,
    pepper: PEPPER,
    host: '127.0.0.1',
    port: 0,
    mayBeOpen: true,
    limits: { heartbeatMs: 200, streams: 50, stallMs: 2_000 },
  })
})
afterAll(async () => {
  await server.close()
  await ledger.close()
})

interface ReceivedEvent {
  readonly id: string | undefined
  readonly fact:
    | { readonly subject: string; readonly sequence: string; readonly revision: string; readonly type: string }
    | undefined
}

/** Reads a stream until it has this number of events. */
async function hear(
  path: string,
  { count, key = 'all', last, onFact }: { count: number; key?: string; last?: string; onFact?: () => Promise<void> },
): Promise<ReceivedEvent[]> {
  const response = await fetch(`${server.url}${path}`, {
    headers: { authorization: `Bearer ${keys[key] ?? ''}`, ...(last === undefined ? {} : { 'last-event-id': last }) },
  })
  if (response.status !== 200 || response.body === null) throw new Error(await response.text())
  const received: ReceivedEvent[] = []
  let text = ''
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  while (received.length < count) {
    const { value, done } = await reader.read()
    if (done) break
    text += decoder.decode(value, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0 && received.length < count; end = text.indexOf('\n\n')) {
      const frame = text.slice(0, end)
      text = text.slice(end + 2)
      const data = /^data: (.*)$/mu.exec(frame)?.[1]
      if (data === undefined) continue
      received.push({
        id: /^id: (.*)$/mu.exec(frame)?.[1],
        fact: z.encode(cloudEvent, cloudEvent.parse(JSON.parse(data))),
      })
      await onFact?.()
    }
  }
  await reader.cancel()
  return received
}

it('from the beginning and then as they come, resumed without a gap and without one twice', async () => {
  for (let number = 0; number < 20; number += 1) await ledger.append(`e-${String(number % 3)}`, say(number))
  const first = await hear('/v1/events?from=0', { count: 7 })
  const last = first.at(-1)?.id
  let more = 20
  const second = hear('/v1/events', {
    count: 40,
    ...(last === undefined ? {} : { last }),
    onFact: async () => {
      if (more < 50) await ledger.append('e-live', say(more++))
    },
  })
  const received = [...first, ...(await second)]
  expect(received.map(({ id }) => id)).toEqual(received.map((_one, place) => String(place)))
  expect(received.every(({ id, fact }) => id === fact?.sequence)).toBe(true)
})

it('of one conversation by its revisions, from where it stands or from the beginning', async () => {
  await ledger.append('one', [say(0), say(1)])
  const received = hear('/v1/conversations/one/events?from=1', { count: 5 })
  for (let number = 2; number < 6; number += 1) {
    await ledger.append('one', say(number))
    await ledger.append('another', say(number))
  }
  const facts = await received
  expect(facts.map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5'])
  expect(new Set(facts.map(({ fact }) => fact?.subject))).toEqual(new Set(['one']))
  const resumed = await hear('/v1/conversations/one/events', { count: 2, last: '3' })
  expect(resumed.map(({ id }) => id)).toEqual(['4', '5'])
})

it('within a key’s bound alone', async () => {
  await ledger.append('ours', say(0), { scope: 'us' })
  await ledger.append('theirs', say(0), { scope: 'them' })
  await ledger.append('ours', say(1))
  const received = await hear('/v1/events?from=0', { key: 'us', count: 3 })
  expect(new Set(received.map(({ fact }) => fact?.subject))).toEqual(new Set(['ours']))
  await expect(hear('/v1/conversations/theirs/events', { key: 'us', count: 1 })).rejects.toThrow('NoSuchConversation')
})

longTest(
  'a client that never reads is cut off, and holds up nobody',
  async () => {
    // More than the buffers of a connection hold.
    const big = 'x'.repeat(200_000)
    const messages = Array.from({ length: 60 }, (_none, number) => ({
      id: `big-${String(number)}`,
      role: 'user' as const,
      content: `${String(number)} ${big}`,
    }))
    // The window holds all messages, so no compaction follows.
    await ledger.append('big', messages, { policy: { modelMaxTokens: 100_000_000 } })
    const port = Number(new URL(server.url).port)
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    const closed = once(socket, 'close')
    socket.pause()
    socket.write(
      `GET /v1/conversations/big/events?from=0 HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${keys['all'] ?? ''}\r\n\r\n`,
    )
    const received = await hear('/v1/conversations/big/events?from=0', { count: 20 })
    expect(received).toHaveLength(20)
    // The client reads on only after it is disconnected. It gets what its buffers already held, and then the end.
    await new Promise((resolve) => setTimeout(resolve, 4_000))
    let bytes = 0
    socket.on('data', (chunk) => {
      bytes += chunk.length
    })
    socket.resume()
    await closed
    expect(bytes).toBeLessThan(60 * 200_000)
  },
  120_000,
)

it('no more streams than there is room for; a place is free again when a client leaves', async () => {
  const open = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const ended = new AbortController()
      const response = await fetch(`${server.url}/v1/events`, {
        signal: ended.signal,
        headers: { authorization: `Bearer ${keys['all'] ?? ''}` },
      })
      return { ended, response }
    }),
  )
  expect(open.map(({ response }) => response.status)).toEqual(open.map(() => 200))
  await expect(hear('/v1/events?from=0', { count: 1 })).rejects.toThrow('TooManyStreams')
  for (const { ended } of open) ended.abort()
  let received: readonly unknown[] | undefined
  for (let tries = 0; tries < 100 && received === undefined; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    received = await hear('/v1/events?from=0', { count: 1 }).catch(() => undefined)
  }
  expect(received).toHaveLength(1)
})

it('ends after the key was revoked', async () => {
  await ledger.append('before', say(0))
  let isRevoked = false
  // The count is never reached: the reading ends with the stream.
  const facts = await hear('/v1/events?from=0', {
    count: 1_000_000,
    key: 'revoked',
    async onFact() {
      if (isRevoked) return
      isRevoked = true
      await revoke(keys['revoked'] ?? '')
    },
  })
  expect(facts.length).toBeGreaterThan(0)
  await expect(hear('/v1/events?from=0', { count: 1, key: 'revoked' })).rejects.toThrow('KeyRefused')
})
