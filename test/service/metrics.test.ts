/** Prometheus gets the number of compactions and failures, and no label that names a conversation. */
import { expect, it } from '@jest/globals'
import { SMALL, talk } from '../support/conversations.js'
import { startTestService } from '../support/service.js'

it('runs, tokens, calls and fallbacks are counted, and a model that is away is seen', async () => {
  let isAway = false
  const at = await startTestService({
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
  /** The sum of a metric over all labels that begin with this prefix; 0 if the metric is absent. */
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
  await at.ledger.admin.waitForCompaction()
  expect(await of('run_seconds_count{outcome="compacted"}')).toBeGreaterThan(0)
  for (const name of ['cycles', 'messages', 'summaries', 'calls', 'tokens', 'call_seconds'])
    expect([name, (await of(`${name}_total`)) > 0]).toEqual([name, true])
  expect(await of('context_tokens_before_total')).toBeGreaterThan(await of('context_tokens_after_total'))
  expect(await of('call_seconds_total')).toBeGreaterThanOrEqual(0.005 * 0.9 * (await of('calls_total')))
  expect([await of('fallbacks_total'), await of('failures_total'), await of('running')]).toEqual([0, 0, 0])

  isAway = true
  // This number of messages in one append exceeds the hard limit, so a summary is required.
  await at.append('chat-2', talk(40))
  await at.ledger.admin.waitForCompaction()
  expect(await of('fallbacks_total')).toBeGreaterThan(0)
  expect(await of('failures_total{kind="threw"}')).toBeGreaterThan(0)
  expect(String((await at.ask('/metrics')).body)).not.toMatch(/chat-[12]/u)
  await at.close()
})
