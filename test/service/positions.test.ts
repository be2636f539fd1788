/** Opaque positions for keys with a bound: the service accepts them, and the number of others' events is not in them. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { openService } from '../../src/library/compose.js'
import { ROLES } from '../../src/ports/service-state.js'
import { createKey } from '../../src/interfaces/service/keys.js'
import { hiddenPositions } from '../../src/interfaces/service/positions.js'
import { startService } from '../../src/interfaces/service/server.js'
import { openRemoteLedger } from '../../src/interfaces/client/index.js'
import { say } from '../support/conversations.js'
import { runsOf } from '../support/length.js'
import { PEPPER } from '../support/service.js'

it('are whole numbers that decode to the position, with every salt', () => {
  const position = fc.oneof(fc.nat(), fc.integer({ min: 0, max: 2 ** 44 - 1 }))
  fc.assert(
    fc.property(fc.string(), position, fc.nat(1_000), (pepper, plain, salt) => {
      const { encode, decode } = hiddenPositions(pepper)
      const number = encode(plain, salt)
      expect(Number.isSafeInteger(number) && number >= 0).toBe(true)
      expect(decode(number)).toBe(plain)
    }),
    { numRuns: runsOf(300) },
  )
})

it('differ between neighbours, salts and peppers by numbers that have no order', () => {
  const { encode } = hiddenPositions('a')
  const numbers = Array.from({ length: 1_000 }, (_none, position) => encode(position))
  expect(new Set(numbers).size).toBe(1_000)
  const rising = numbers.filter((number, at) => number > (numbers[at - 1] ?? Infinity)).length
  expect(rising).toBeGreaterThan(400)
  expect(rising).toBeLessThan(600)
  expect(new Set(Array.from({ length: 256 }, (_none, salt) => encode(7, salt))).size).toBe(256)
  expect(hiddenPositions('b').encode(7)).not.toBe(encode(7))
})

describe('over HTTP', () => {
  it('hide what others record, and a bound key reads what it wrote and resumes with them', async () => {
    const { ledger, ...stores } = await openService({ store: 'memory' })
    const key = async (scope?: string): Promise<string> =>
      (
        await createKey(stores.keys, PEPPER, {
          name: `of ${String(scope)}`,
          roles: ROLES,
          bound: scope === undefined ? undefined : { scope },
        })
      ).key
    const bound = await key('us')
    const server = await startService({
      ledger,
      stores,
      pepper: PEPPER,
      host: '127.0.0.1',
      port: 0,
      mayBeOpen: true,
      limits: { heartbeatMs: 40 },
    })
    const remote = openRemoteLedger({ url: server.url, key: bound })
    const appendTheirs = async (count: number): Promise<void> => {
      await ledger.append(
        'theirs',
        Array.from({ length: count }, (_none, at) => say(at)),
        { scope: 'them' },
      )
    }
    try {
      await appendTheirs(3)
      const first = await remote.append('ours', say(1))
      await appendTheirs(5)
      const second = await remote.append('ours', say(2))
      const found = await remote.list({ waitFor: second.position ?? -1 })
      expect(found.conversations.map(({ liveMessages }) => liveMessages)).toEqual([2])
      const { hits } = await remote.search('message', { conversationId: 'ours', waitFor: second.position ?? -1 })
      expect(hits).not.toEqual([])
      const receivedPositions: number[] = []
      for await (const { position } of remote.log('ours')) receivedPositions.push(position)
      expect(receivedPositions.slice(-2)).toEqual([first.position, second.position])
      expect(receivedPositions.filter((position) => position < 1_000_000)).toEqual([])

      const followed: number[] = []
      const signal = AbortSignal.timeout(10_000)
      for await (const item of remote.admin.follow({ after: first.position ?? -1, signal })) {
        if (item.kind === 'event') followed.push(item.event.position)
        if (followed.length === 1) break
      }
      expect(followed).toEqual([second.position])

      const response = await fetch(`${server.url}/v1/events?from=${String(first.position)}`, {
        headers: { authorization: `Bearer ${bound}` },
        signal,
      })
      let text = ''
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString('utf8')
        if ((text.match(/still here/gu) ?? []).length === 5) break
      }
      const ids = [...text.matchAll(/^id: (?<id>\d+)$/gmu)].map(({ groups }) => Number(groups?.['id']))
      expect(ids.slice(0, 2)).toEqual([first.position, second.position])
      expect([...text.matchAll(/"sequence":"(?<id>\d+)"/gu)].map(({ groups }) => Number(groups?.['id']))).toEqual([
        first.position,
        second.position,
      ])
      // No event was recorded between them, but they differ.
      expect(new Set(ids).size).toBe(7)

      const resumed = await fetch(`${server.url}/v1/events`, {
        headers: { authorization: `Bearer ${bound}`, 'last-event-id': String(ids.at(-1)) },
        signal,
      })
      await remote.append('ours', say(3))
      let rest = ''
      for await (const chunk of resumed.body ?? []) {
        rest += Buffer.from(chunk).toString('utf8')
        if (rest.includes('"sequence"')) break
      }
      expect(rest.match(/"subject":"ours"/gu)).toHaveLength(1)

      const push = await fetch(`${server.url}/v1/transcripts`, {
        method: 'POST',
        headers: { authorization: `Bearer ${bound}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          upload: 'u1',
          offset: 0,
          program: 'codex',
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
        }),
      })
      const pushed: unknown = await push.json()
      expect(pushed).toMatchObject({ conversations: [{ messages: 1, position: expect.stringMatching(/^\d{7,}$/u) }] })
    } finally {
      await remote.close()
      await server.close()
      await ledger.close()
    }
  })
})
