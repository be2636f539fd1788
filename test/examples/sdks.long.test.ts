/** The examples of the SDKs, run as they stand, with the real packages. */
import { expect, it } from '@jest/globals'
import { aiSdk } from '../../examples/ai-sdk.js'
import { claudeAgentSdk } from '../../examples/claude-agent-sdk.js'
import { langchain } from '../../examples/langchain.js'
import { openaiAgents } from '../../examples/openai-agents.js'

it('ai-sdk: the host keeps everything, and the model is given what fits', async () => {
  const { kept, sent } = await aiSdk(() => undefined)
  expect(kept).toBe(80)
  expect(sent).toBeLessThan(70)
})

it('langchain: the state stays whole, and the model is given what fits', async () => {
  const { kept, given } = await langchain(() => undefined)
  expect(kept).toBe(90)
  expect(given).toBeLessThan(85)
})

it('openai-agents: the session gives what fits, and the ledger keeps everything', async () => {
  const { kept, given } = await openaiAgents(() => undefined)
  expect(kept).toBeGreaterThan(58)
  expect(given).toBeLessThan(59)
})

it('claude-agent-sdk: a session is resumed from what was recorded, its own compaction among it', async () => {
  expect(await claudeAgentSdk(() => undefined)).toEqual({ lines: 41, compactions: 1 })
})
