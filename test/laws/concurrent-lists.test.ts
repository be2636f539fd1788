/**
 * Two concurrent calls of `compress` with two lists of one conversation: in the end exactly one of the lists is recorded,
 * without duplicates.
 */
import { afterEach, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createSourceLists } from '../../src/application/compaction/source-list.js'
import { messageHash, type MessageInput } from '../../src/domain/values/message.js'
import { openLedger } from '../../src/index.js'
import { nameless, say, SMALL, talk } from '../support/conversations.js'
import { collect } from '../support/events.js'
import { CONVERSATION, createHarness, messageOf, type Harness } from '../support/harness.js'
import { createTestDatabase } from '../support/postgres.js'
import { runsOf, serverDescribe } from '../support/length.js'

const TIMEOUT_MS = 120_000

interface Edit {
  readonly at: number
  readonly kind: 'edit' | 'drop' | 'insert' | 'cut'
  readonly more: number
}

const edits: fc.Arbitrary<Edit> = fc.record({
  at: fc.nat(5),
  kind: fc.constantFrom('edit', 'drop', 'insert', 'cut'),
  more: fc.nat(3),
})

/** A list with an edit near its end and `more` appended messages. */
function edited(list: readonly MessageInput[], { at, kind, more }: Edit, from: number): MessageInput[] {
  const index = list.length - 1 - at
  const changed =
    kind === 'edit'
      ? list.with(index, { ...say(index), content: `Said otherwise, ${String(from)}.` })
      : kind === 'drop'
        ? list.toSpliced(index, 1)
        : kind === 'insert'
          ? list.toSpliced(index, 0, say(from + 50))
          : list.slice(0, index + 1)
  return [...changed, ...talk(more, from)]
}

const hashes = (list: readonly MessageInput[]): string[] => list.map((message) => messageHash(messageOf(message)))

async function recordedHashes(harness: Harness): Promise<string[]> {
  const { leading, rest } = await createSourceLists(harness.log)(
    CONVERSATION,
    (await harness.conversations.load(CONVERSATION)).revision,
  )
  return [...leading, ...rest].map((message) => message.messageHash)
}

it.each([
  ['one process', false],
  ['two processes', true],
])(
  'of %s',
  async (_name, hasTwoProcesses) => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 8, max: 30 }),
        edits,
        edits,
        fc.boolean(),
        async (length, one, two, usesIds) => {
          const harness = createHarness({ policy: SMALL })
          const asHostList = (list: readonly MessageInput[]): MessageInput[] =>
            usesIds ? [...list] : list.map(nameless)
          const base = talk(length)
          await harness.compress(asHostList(base))
          const lists = [asHostList(edited(base, one, 100)), asHostList(edited(base, two, 200))] as const
          const rival = hasTwoProcesses ? harness.restart() : harness
          const results = await Promise.all([harness.compress(lists[0]), rival.compress(lists[1])])
          expect(results.map(({ error }) => error)).toEqual([undefined, undefined])
          expect(lists.map(hashes)).toContainEqual(await recordedHashes(harness.restart()))
          expect((await harness.restart().context()).messages.length).toBeGreaterThan(0)
        },
      ),
      { numRuns: runsOf(20) },
    )
  },
  TIMEOUT_MS,
)

const dropping: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const drop of dropping.splice(0).toReversed()) await drop()
})

// Skipped without a Postgres server.

serverDescribe('over one Postgres', () => {
  it(
    'of two ledgers',
    async () => {
      const { address, drop } = await createTestDatabase()
      dropping.push(drop)
      const ledgers = await Promise.all([0, 1].map(() => openLedger({ store: address, policy: SMALL })))
      dropping.push(async () => {
        for (const ledger of ledgers) await ledger.close()
      })
      const [one, two] = ledgers
      if (one === undefined || two === undefined) throw new Error('no ledger')
      const base = talk(12).map(nameless)
      await one.compress(base, 'c')
      for (let round = 0; round < 5; round += 1) {
        const lists = [
          edited(base, { at: 2, kind: 'edit', more: 2 }, 100 + round * 10),
          edited(base, { at: 1, kind: 'drop', more: 3 }, 200 + round * 10),
        ].map((list) => list.map(nameless))
        const results = await Promise.all([one.compress(lists[0] ?? [], 'c'), two.compress(lists[1] ?? [], 'c')])
        expect(results.map(({ error }) => error)).toEqual([undefined, undefined])
        const recorded = new Map<string, string>()
        for (const event of await collect(one.log('c'))) {
          if (event.type === 'MessageAppended') recorded.set(event.data.messageId, messageHash(event.data))
          else if (event.type === 'MessagesWithdrawn')
            for (const { messageId } of event.data.messages) recorded.delete(messageId)
        }
        expect(lists.map(hashes)).toContainEqual([...recorded.values()])
      }
    },
    TIMEOUT_MS,
  )
})
