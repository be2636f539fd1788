/** The types of the package, from the outside: what somebody who installs it compiles against. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { packedProject, type PackedProject } from '../support/packed.js'

let project: PackedProject
beforeAll(() => { project = packedProject() })
afterAll(() => { project.remove() })

/** An agent's loop, with the types of `openai` in both directions. */
const OPENAI = `
import OpenAI from 'openai'
import type { ChatCompletionMessage, ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions'
import { createCompactor, openLedger, type ChatMessage, type Ledger, type MessageInput } from 'context-ledger'

export async function loop(openai: OpenAI, ledger: Ledger): Promise<void> {
  const tools: ChatCompletionTool[] = ledger.tools('c').map(({ definition }) => definition)
  const { messages, revision, hash } = await ledger.context('c')
  const completion = await openai.chat.completions.create({ model: 'm', messages, tools })
  const [choice] = completion.choices
  if (choice === undefined) return
  await ledger.append('c', choice.message)
  await ledger.append('c', { ...choice.message, answers: { revision: String(revision), hash } })
  for (const call of choice.message.tool_calls ?? []) {
    if (call.type === 'function') await ledger.append('c', { role: 'tool', tool_call_id: call.id, content: 'done' })
  }
}

export async function compressed(openai: OpenAI, history: ChatCompletionMessageParam[], frozen: readonly ChatCompletionMessage[]): Promise<void> {
  const compactor = createCompactor({ store: 'memory' })
  const { history: messages } = await compactor.compress(history, 'c')
  await openai.chat.completions.create({ model: 'm', messages })
  const again: ChatCompletionMessageParam[] = (await compactor.compress(messages, 'c')).history
  const answers: ChatCompletionMessageParam[] = (await compactor.compress(frozen, 'c')).history
  await openai.chat.completions.create({ model: 'm', messages: [...again, ...answers], stream: true })
}

export const inputs = (param: ChatCompletionMessageParam, message: ChatCompletionMessage, ours: ChatMessage): MessageInput[] => [param, message, ours]
export const outputs = (ours: ChatMessage): ChatCompletionMessageParam => ours

export async function appended(ledger: Ledger, param: ChatCompletionMessageParam, list: readonly ChatCompletionMessageParam[], note: string | undefined): Promise<void> {
  await ledger.append('c', param)
  await ledger.append('c', list)
  await ledger.append('c', { role: 'user', content: [{ type: 'text', text: 'look' }, { type: 'image_url', image_url: { url: 'https://example.org/a.png' } }, { type: 'thinking', signature: 'x' }] })
  await ledger.append('c', { role: 'assistant', content: null, name: note, tool_calls: [{ id: 'x', type: 'function', function: { name: 'run', arguments: '{}' } }], reasoning_content: 'so', refusal: null })
  // @ts-expect-error a misspelt field
  await ledger.append('c', { role: 'assistant', content: null, toolCalls: [] })
  // @ts-expect-error a misspelt option
  await openLedger({ store: 'memory', sumarizer: 'extractive' })
}
`

describe('the types of the package, those of packages checked too', () => {
  it('fit those of openai in both directions, without a cast', () => {
    project.write({ 'openai.ts': OPENAI })
    expect(project.compile(['openai.ts'], { noEmit: true })).toEqual([])
  })

  it('ask for no types of a driver, and for those of Node only where there are none of the web', () => {
    project.write({ 'plain.ts': `import * as everything from 'context-ledger'\nexport const names = Object.keys(everything)\n` })
    expect(project.compile(['plain.ts'], { noEmit: true })).toEqual([])
    expect(project.compile(['plain.ts'], { noEmit: true, types: [], lib: undefined })).toEqual([])
  })
})
