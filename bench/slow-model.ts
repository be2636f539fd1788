/**
 * An agent that appends a message every second and reads its context each time, while its summarizer takes five seconds
 * per chunk. The baseline is another conversation in the same process at the same time, without compaction.
 */
import { openLedger, type Ledger, type PolicySettings, type Summarizer } from '../src/index.js'
import { createExtractiveSummarizer } from '../src/application/summarizers/index.js'
import { givenAt } from './support/bulk-log.js'
import { against, atMost, milliseconds, reported, type Bench, type Figure, type Group } from './support/figures.js'
import { median, percentile } from './support/measure.js'
import { randomOf } from './support/text.js'

const MESSAGES = 200
const EVERY_MS = 1_000
const CHUNK_MS = 5_000
const POLICY: PolicySettings = { modelMaxTokens: 4_000, chunkSize: 10, chunkMinTokens: 0 }
const CONVERSATION = 'talk'
const wait = async (ms: number): Promise<void> => {
  await new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

/** The extractive summarizer, with the delay of a model. */
function slowed(counted: { summaries: number }): Summarizer {
  const extractive = createExtractiveSummarizer()
  return {
    ...extractive,
    summarize: async (prepared, signal) => {
      await wait(CHUNK_MS)
      counted.summaries += 1
      return await extractive.summarize(prepared, signal)
    },
  }
}

interface Seen {
  readonly reads: number[]
  largest: number
  shortened: number
}

async function talk(ledger: Ledger): Promise<Seen> {
  const random = randomOf(5)
  const observations: Seen = { reads: [], largest: 0, shortened: 0 }
  const began = performance.now()
  for (let at = 0; at < MESSAGES; at += 1) {
    await ledger.append(CONVERSATION, givenAt(at, random))
    const startedAt = performance.now()
    const context = await ledger.context(CONVERSATION)
    observations.reads.push(performance.now() - startedAt)
    observations.largest = Math.max(observations.largest, context.tokens)
    if (context.shortened !== undefined) observations.shortened += 1
    await wait(began + (at + 1) * EVERY_MS - performance.now())
  }
  return observations
}

async function run(bench: Bench): Promise<readonly Figure[]> {
  const places = [await bench.createPlace('slow'), await bench.createPlace('alone')] as const
  const counted = { summaries: 0 }
  const compacted = await openLedger({ store: places[0].store, policy: POLICY, summarizer: slowed(counted) })
  const alone = await openLedger({ store: places[1].store, policy: POLICY, workers: 'elsewhere' })
  try {
    bench.say(`${String(MESSAGES)} messages, one a second`)
    const [during, without] = await Promise.all([talk(compacted), talk(alone)])
    const note = `${String(MESSAGES)} messages of 100 tokens, one a second, both conversations at once; ${String(counted.summaries)} summaries of ${String(CHUNK_MS / 1_000)} s each; of the contexts with compaction ${String(during.shortened)} were shown shortened, without ${String(without.shortened)}`
    const baseline = (value: number): { readonly name: string; readonly value: number } => ({
      name: 'without compaction',
      value,
    })
    const tokens = (value: number): string => `${value.toLocaleString('en')} tokens`
    return [
      atMost(
        'longest wait for a read, a summarizer of 5 s a chunk',
        Math.max(...during.reads),
        baseline(Math.max(...without.reads)),
        1,
        milliseconds,
        note,
      ),
      reported(
        'wait for a read, p99',
        percentile(during.reads, 0.99),
        milliseconds,
        baseline(percentile(without.reads, 0.99)),
      ),
      reported('wait for a read, p50', median(during.reads), milliseconds, baseline(median(without.reads))),
      against(
        'largest context, a summarizer of 5 s a chunk',
        during.largest,
        { most: 4_000 },
        tokens,
        baseline(without.largest),
      ),
    ]
  } finally {
    await compacted.close()
    await alone.close()
    for (const folder of places) await folder.remove()
  }
}

export const group: Group = {
  title: 'A slow model',
  only: 'native',
  run,
}
