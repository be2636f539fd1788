/**
 * A summarizer of one's own: it names its request before it is paid for, so that the ledger can find a recorded answer
 * again, and answers with a text or a named failure. Run it with `node
 * node_modules/context-ledger/dist/examples/own-summarizer.js`.
 */
import { createHash } from 'node:crypto'
import { openLedger, type PreparedSummary, type Summarizer, type SummaryJob } from 'context-ledger'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const RULE = 'The first line of every message, as many as fit.'

const firstLines = (job: SummaryJob): string => {
  const texts =
    job.kind === 'chunk'
      ? job.messages.map(
          (message) => `${message.role}: ${typeof message.content === 'string' ? message.content : '(parts)'}`,
        )
      : job.summaries.map((summary) => summary.text)
  // Four characters are about a token; a summary above `maxSummaryTokens` would be refused.
  return texts
    .map((text) => text.split('\n')[0]?.slice(0, 80) ?? '')
    .join('\n')
    .slice(0, job.maxSummaryTokens * 3)
}

/** Takes the first line of every message. */
const firstLineSummarizer: Summarizer = {
  strategy: 'first-lines',
  provider: 'none',
  model: 'first-lines-1',
  windowTokens: 128_000,
  prepare(job): PreparedSummary {
    const request = firstLines(job)
    return {
      job,
      strategy: 'first-lines',
      provider: 'none',
      model: 'first-lines-1',
      parameters: { maxSummaryTokens: job.maxSummaryTokens },
      prompt: { name: 'first-lines', sha256: sha256(RULE), text: RULE },
      formatterVersion: 1,
      requestHash: sha256(JSON.stringify(['first-lines-1', job.maxSummaryTokens, request])),
      request,
    }
  },
  summarize: async ({ request }) => ({ text: String(request), durationMs: 0 }),
}

/** @returns the strategies that the recorded summaries name */
export async function ownSummarizer(say: (line: string) => void = console.log): Promise<readonly string[]> {
  const ledger = await openLedger({
    store: 'memory',
    summarizer: firstLineSummarizer,
    policy: { modelMaxTokens: 2_000 },
  })
  try {
    for (let turn = 1; turn <= 150; turn += 1) {
      await ledger.append('own', [
        {
          role: 'user',
          content: `Please look at job ${String(turn)}; it ran for ${String(turn * 13)} seconds and nobody knows why that is.`,
        },
        {
          role: 'assistant',
          content: `Job ${String(turn)} waited for the lock of job ${String(turn - 1)}, so its own work took only a second of that time.`,
        },
      ])
    }
    await ledger.admin.waitForCompaction()
    const strategies: string[] = []
    for await (const event of ledger.log('own')) {
      if (event.type === 'ChunkSummarized') strategies.push(event.data.summarizer.strategy)
    }
    say(`${String(strategies.length)} summaries by ${[...new Set(strategies)].join(', ')}`)
    return strategies
  } finally {
    await ledger.close()
  }
}

if (/[\\/]own-summarizer\.[jt]s$/u.test(process.argv[1] ?? '')) await ownSummarizer()
