/**
 * Two lists of one conversation through `compress` at once: one of them is what is recorded in the end, with nothing
 * twice, whoever came first.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createSaidLists } from '../../src/compaction/said-list.js'
import { messageHash, type MessageInput } from '../../src/domain/values/message.js'
import { openLedger } from '../../src/index.js'
import { nameless, say, SMALL, talk } from '../support/conversations.js'
import { collect } from '../support/events.js'
import { CONVERSATION, createHarness, messageOf, type Harness } from '../support/harness.js'
import { createTestDatabase, testServer } from '../support/postgres.js'
import { runsOf } from '../support/length.js'

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

/** A list with its end edited, and so many messages behind it. */
function edited(list: readonly MessageInput[], { at, kind, more }: Edit, from: number): MessageInput[] {
  const place = list.length - 1 - at
  const changed =
    kind === 'edit'
      ? list.with(place, { ...say(place), content: `Said otherwise, ${String(from)}.` })
      : kind === 'drop'
        ? list.toSpliced(place, 1)
        : kind === 'insert'
          ? list.toSpliced(place, 0, say(from + 50))
          : list.slice(0, place + 1)
  return [...changed, ...talk(more, from)]
}

const hashes = (list: readonly MessageInput[]): string[] => list.map((message) => messageHash(messageOf(message)))

async function saidBy(harness: Harness): Promise<string[]> {
  const { leading, rest } = await createSaidLists(harness.log)(
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
  async (_name, apart) => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 8, max: 30 }),
        edits,
        edits,
        fc.boolean(),
        async (length, one, two, usesIds) => {
          const harness = createHarness({ policy: SMALL })
          const own = (list: readonly MessageInput[]): MessageInput[] => (usesIds ? [...list] : list.map(nameless))
          const base = talk(length)
          await harness.compress(own(base))
          const lists = [own(edited(base, one, 100)), own(edited(base, two, 200))] as const
          const rival = apart ? harness.restart() : harness
          const done = await Promise.all([harness.compress(lists[0]), rival.compress(lists[1])])
          expect(done.map(({ error }) => error)).toEqual([undefined, undefined])
          expect(lists.map(hashes)).toContainEqual(await saidBy(harness.restart()))
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

// Without a Postgres server it is counted as skipped.
const describeOnServer = testServer === '' ? describe.skip : describe

describeOnServer('over one Postgres', () => {
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
        const done = await Promise.all([one.compress(lists[0] ?? [], 'c'), two.compress(lists[1] ?? [], 'c')])
        expect(done.map(({ error }) => error)).toEqual([undefined, undefined])
        const said = new Map<string, string>()
        for (const event of await collect(one.log('c'))) {
          if (event.type === 'MessageAppended') said.set(event.data.messageId, messageHash(event.data))
          else if (event.type === 'MessagesWithdrawn')
            for (const { messageId } of event.data.messages) said.delete(messageId)
        }
        expect(lists.map(hashes)).toContainEqual([...said.values()])
      }
    },
    TIMEOUT_MS,
  )
})
