/**
 * Messages with more JSON values than a message may have: imported twice is imported once, from a file of our own format
 * or of another one, also if an earlier version recorded their values as they were.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConversationNames } from '../../src/interfaces/cli/import/conversation-names.js'
import { importMessageFile } from '../../src/interfaces/cli/import/message-file.js'
import { conversationStream } from '../../src/domain/values/ids.js'
import type { MessageBody } from '../../src/domain/values/message.js'
import { parseMessage } from '../../src/domain/values/parse-message.js'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import type { Ledger } from '../../src/index.js'
import type { EventStore } from '../../src/ports/event-store.js'
import { appended, configured, eventsFor } from '../support/builders.js'
import { appended as recordEvents } from '../support/events.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { runsOf } from '../support/length.js'
import { openTestDatabase } from '../support/memory-database.js'

const folder = mkdtempSync(join(tmpdir(), 'large-'))
let ledger: Ledger
let store: EventStore
beforeAll(async () => {
  ledger = await ledgerOn(await openTestDatabase(), {
    storeFrom: (given) => {
      store = given
      return given
    },
  })
})
afterAll(async () => {
  await ledger.close()
  rmSync(folder, { recursive: true })
})

const values = fc.constantFrom(2, 150, 11_000).map((length) => Array.from({ length }, (_none, at) => at % 10))
const part = fc.oneof(
  values.map((rows) => ({ type: 'table', rows })),
  fc.constant({ type: 'text', text: 'a text' }),
)
const message = fc.oneof(
  fc.record({ role: fc.constant('user'), content: fc.array(part, { minLength: 1, maxLength: 3 }), rows: values }),
  fc.record({ role: fc.constant('user'), content: fc.constant('a text'), rows: values, more: values }),
  fc.record({ role: fc.constant('user'), content: fc.constant('a text'), attributes: fc.record({ rows: values }) }),
)

/** The message as an earlier version recorded it. */
function recordedBody(input: object): MessageBody | undefined {
  const { attributes: _attributes, ...rest } = { attributes: undefined, ...input }
  const parsed = parseMessage(rest)
  if (E.isRight(parsed)) return parsed.right
  const {
    role: _role,
    content,
    ...extra
  } = { content: null, ...rest } as { role?: string; content: MessageBody['content'] }
  return { role: 'user', content, ...(Object.keys(extra).length === 0 ? {} : { extra }) }
}

const LARGE = {
  role: 'user' as const,
  content: [{ type: 'table', rows: Array.from({ length: 11_000 }, () => 1) }],
  rows: [1, 2],
}

let files = 0

it('imported twice is imported once, whichever version recorded it first', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(message, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      fc.boolean(),
      async (messages, isArray, wasRecorded) => {
        const conversation = `large-${String((files += 1))}`
        const placed = messages.map((each, at) => ({ id: `m${String(at)}`, ...each }))
        const file = join(folder, `${conversation}.${isArray ? 'json' : 'jsonl'}`)
        writeFileSync(file, isArray ? JSON.stringify(placed) : placed.map((each) => JSON.stringify(each)).join('\n'))
        if (wasRecorded) {
          const events = messages.map((each, at) => appended(`m${String(at)}`, { ...recordedBody(each) }))
          const stream = conversationStream(conversation)
          await recordEvents(
            store,
            stream,
            eventsFor(stream, [configured({ estimator: defaultEstimator.name }), ...events]).events,
          )
        }
        const imported = async (): Promise<readonly (number | undefined)[]> => {
          const found = await importMessageFile(
            ledger,
            file,
            { conversation, names: new ConversationNames(ledger) },
            () => undefined,
            new AbortController().signal,
          )
          return [found?.recorded, found?.alreadyThere]
        }
        const all = messages.length
        expect(await imported()).toEqual(wasRecorded ? [0, all] : [all, 0])
        expect(await imported()).toEqual([0, all])
      },
    ),
    {
      numRuns: runsOf(120),
      examples: [
        [[LARGE], false, true],
        [[LARGE], true, false],
      ],
    },
  )
})
