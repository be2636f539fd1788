/** What Prometheus is told of compaction: what was done, what failed, and nothing that names a conversation. */
import { expect, it } from '@jest/globals'
import { SMALL, talk } from '../support/conversations.js'
import { askedService } from '../support/service.js'

it('runs, tokens, calls and fallbacks are counted, and a model that is away is seen', async () => {
  let isAway = false
  const at = await askedService({
    ledger: {
      policy: SMALL,
      onProblem: () => undefined,
      summarizer: async () => {
        if (isAway) throw new Error('nobody there')
        await new Promise((resolve) => setTimeout(resolve, 5))
        return 'a summary'
      },
    },
  })
  /** The value of a metric, of all its labels that begin so; 0 where there is none. */
  async function value(name: string): Promise<number> {
    const { body } = await at.ask('/metrics')
    const lines = String(body)
      .split('\n')
      .filter((line) => line.startsWith(name))
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  }
  const of = (name: string): Promise<number> => value(`context_ledger_compaction_${name}`)

  expect(await of('cycles_total')).toBe(0)
  await at.append('chat-1', talk(24))
  await at.ledger.settled()
  expect(await of('run_seconds_count{outcome="compacted"}')).toBeGreaterThan(0)
  for (const name of ['cycles', 'messages', 'summaries', 'calls', 'tokens', 'call_seconds'])
    expect([name, (await of(`${name}_total`)) > 0]).toEqual([name, true])
  expect(await of('context_tokens_before_total')).toBeGreaterThan(await of('context_tokens_after_total'))
  expect(await of('call_seconds_total')).toBeGreaterThanOrEqual(0.005 * 0.9 * (await of('calls_total')))
  expect([await of('fallbacks_total'), await of('failures_total'), await of('running')]).toEqual([0, 0, 0])

  isAway = true
  // So many at once are above the hard limit, where somebody has to write a summary.
  await at.append('chat-2', talk(40))
  await at.ledger.settled()
  expect(await of('fallbacks_total')).toBeGreaterThan(0)
  expect(await of('failures_total{kind="threw"}')).toBeGreaterThan(0)
  expect(String((await at.ask('/metrics')).body)).not.toMatch(/chat-[12]/u)
  await at.close()
})
