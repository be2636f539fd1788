/**
 * A window of a million tokens: 20,000 messages without compaction. Measures the fold of their events, and of twice as
 * many, with copying the state for each event as the baseline; and the first context of a newly opened directory store,
 * with reading the same events as the baseline.
 */
import { evolve, evolveAll } from '../src/domain/conversation/evolve.js'
import { initialState } from '../src/domain/conversation/conversation.js'
import type { RecordedEvent } from '../src/domain/events/index.js'
import { openLedger, type MessageInput } from '../src/index.js'
import { findEstimator } from '../src/application/recording/estimators.js'
import { against, atMost, milliseconds, type Figure, type Group } from './support/figures.js'
import { inTurns, median, timed } from './support/measure.js'
import { prose, randomOf } from './support/text.js'

const MESSAGES = 20_000
const CONVERSATION = 'long'
const POLICY = { modelMaxTokens: 4_000_000 }
const AN_APPEND = 500
const ROUNDS = 5

/** Turns of an agent with tools, about 45 tokens per message. */
function turn(at: number, random: () => number): MessageInput {
  const id = `m${String(at)}`
  switch (at % 4) {
    case 0:
      return { id, role: 'user', content: prose(random, 160) }
    case 1:
      return {
        id,
        role: 'assistant',
        content: null,
        tool_calls: [{ id: `call${String(at)}`, type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
      }
    case 2:
      return { id, role: 'tool', tool_call_id: `call${String(at - 1)}`, content: prose(random, 300) }
    default:
      return { id, role: 'assistant', content: prose(random, 160) }
  }
}

async function fill(store: string, messages: number): Promise<void> {
  const ledger = await openLedger({ store, policy: POLICY })
  const random = randomOf(3)
  for (let from = 0; from < messages; from += AN_APPEND)
    await ledger.append(
      CONVERSATION,
      Array.from({ length: AN_APPEND }, (_none, at) => turn(from + at, random)),
    )
  await ledger.close()
}

async function eventsOf(store: string): Promise<readonly RecordedEvent[]> {
  const ledger = await openLedger({ store })
  const events: RecordedEvent[] = []
  for await (const event of ledger.log(CONVERSATION)) events.push(event)
  await ledger.close()
  return events
}

/** Opens a new ledger each time, so that nothing of the conversation is in memory. */
async function cold(store: string, work: 'context' | 'log'): Promise<number> {
  const ledger = await openLedger({ store })
  try {
    return await timed(async () => {
      if (work === 'context') await ledger.context(CONVERSATION)
      else for await (const _event of ledger.log(CONVERSATION));
    })
  } finally {
    await ledger.close()
  }
}

export const group: Group = {
  title: 'A window of a million tokens',
  async run(bench) {
    const location = await bench.createPlace('window')
    try {
      bench.say('writing 40,000 messages')
      await fill(location.store, 2 * MESSAGES)
      const all = await eventsOf(location.store)
      const half = all.slice(0, MESSAGES + 1)
      const start = initialState(CONVERSATION, findEstimator)
      bench.say('folding')
      const folds = await inTurns(ROUNDS, {
        once: async () => [await timed(() => Promise.resolve(evolveAll(start, half)))],
        twice: async () => [await timed(() => Promise.resolve(evolveAll(start, all)))],
        copied: async () => [await timed(() => Promise.resolve(half.reduce(evolve, start)))],
      })
      const figures: Figure[] = [
        against(
          'folding a window of 20,000 messages, p50',
          median(folds.once),
          { most: 100 },
          milliseconds,
          { name: 'a copy of the window for each', value: median(folds.copied) },
          'from facts in memory',
        ),
        atMost(
          'folding a window of 40,000 messages, p50',
          median(folds.twice),
          { name: '20,000', value: median(folds.once) },
          2.2,
          milliseconds,
        ),
      ]
      bench.say('cold')
      const whole = await bench.createPlace('window-cold')
      try {
        await fill(whole.store, MESSAGES)
        const colds = await inTurns(ROUNDS, {
          context: async () => [await cold(whole.store, 'context')],
          log: async () => [await cold(whole.store, 'log')],
        })
        return [
          ...figures,
          against(
            'the first context of 20,000 messages after opening, p50',
            median(colds.context),
            { most: 1_000 },
            milliseconds,
            { name: 'reading the same facts', value: median(colds.log) },
          ),
        ]
      } finally {
        await whole.remove()
      }
    } finally {
      await location.remove()
    }
  },
}
