/**
 * Runs `compaction run` in a child process, with a pause after each answer of the summarizer, so that a kill can happen
 * between an answer and its record. Arguments: address, schema, base URL of the model, pause in milliseconds, number of
 * concurrent conversations.
 */
import { createPostgresBodyStore } from '../../../src/adapters/postgres/body-store.js'
import { createPostgresClaims } from '../../../src/adapters/postgres/claims.js'
import { createPostgresEventStore } from '../../../src/adapters/postgres/event-store.js'
import { createPostgresTokenBudget } from '../../../src/adapters/postgres/token-budget.js'
import { createPostgresWorkQueue } from '../../../src/adapters/postgres/work-queue.js'
import { openPostgres } from '../../../src/adapters/postgres/sql.js'
import { createOpenAiLanguageModel } from '../../../src/adapters/openai/language-model.js'
import { runCompaction } from '../../../src/interfaces/cli/workers/compaction.js'
import type { Summarizer } from '../../../src/ports/summarizer.js'
import { createExtractiveSummarizer, createSummarizer } from '../../../src/application/summarizers/index.js'

const [store = '', schema = '', baseUrl = '', pauseMs = '0', concurrency = '1'] = process.argv.slice(2)

function slowly(summarizer: Summarizer): Summarizer {
  return {
    ...summarizer,
    summarize: async (prepared, signal) => {
      const answer = await summarizer.summarize(prepared, signal)
      await new Promise<void>((resolve) => {
        setTimeout(resolve, Number(pauseMs))
      })
      return answer
    },
  }
}

async function summarizerAt(url: string): Promise<Summarizer> {
  if (url === '') return createExtractiveSummarizer()
  const config = { kind: 'openai', model: 'stub-1', baseUrl: url, apiKey: 'test', maxRetries: 0 } as const
  const model = createOpenAiLanguageModel(config)
  if (model._tag === 'Left') throw new Error(model.left.detail)
  return createSummarizer(config, model.right)
}

await runCompaction(
  { store },
  {
    concurrency: Number(concurrency),
    tokensPerMinute: undefined,
    tokensPerDay: undefined,
    metricsPort: undefined,
    metricsHost: '127.0.0.1',
    json: true,
  },
  async ({ store: address }) => {
    const db = await openPostgres(address, { schema })
    return {
      log: { store: createPostgresEventStore(db), bodies: createPostgresBodyStore(db) },
      name: db.name,
      summarizer: slowly(await summarizerAt(baseUrl)),
      fallback: createExtractiveSummarizer(),
      claims: createPostgresClaims(db),
      queue: createPostgresWorkQueue(db),
      budget: (limits) => createPostgresTokenBudget(db, limits),
      close: () => db.close(),
    }
  },
)
