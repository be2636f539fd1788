/**
 * An agent of LangChain (`langchain`) whose conversation is kept in a ledger: its state stays whole, and its model is
 * given what fits. The model plays a script, so that this runs without a key. Run it with `node
 * node_modules/context-ledger/dist/examples/langchain.js` where `langchain` is installed.
 */
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import type { ChatResult } from '@langchain/core/outputs'
import { openLedger } from 'context-ledger'
import { ledgerMiddleware } from 'context-ledger/langchain'
import { AIMessage, createAgent, HumanMessage, type BaseMessage } from 'langchain'

class ScriptedModel extends BaseChatModel {
  /** Messages that it was given last. */
  given = 0

  override _llmType(): string {
    return 'scripted'
  }

  override bindTools(): this {
    return this
  }

  override _generate(messages: BaseMessage[]): Promise<ChatResult> {
    this.given = messages.length
    const text = 'Noted: the Alma goes to berth 4, as the harbour office has it.'
    return Promise.resolve({ generations: [{ text, message: new AIMessage(text) }] })
  }
}

/** @returns the messages of the agent's state, and how many the model was given last */
export async function langchain(say: (line: string) => void = console.log): Promise<{ kept: number; given: number }> {
  const ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 2_000 } })
  try {
    const model = new ScriptedModel({})
    const agent = createAgent({
      model,
      systemPrompt: 'You answer for the harbour office.',
      middleware: [ledgerMiddleware({ ledger, conversationId: 'harbour' })],
    })
    let messages: BaseMessage[] = []
    for (let turn = 1; turn <= 45; turn += 1) {
      const note = `Note ${String(turn)}: the Alma lies at berth 4 until the crane is mended, at noon at best.`
      const state = await agent.invoke({ messages: [...messages, new HumanMessage(note)] })
      ;({ messages } = state)
    }
    say(`The agent's state has ${String(messages.length)} messages; the model was given ${String(model.given)}.`)
    const { ok } = await ledger.admin.verify('harbour')
    say(ok ? 'Nothing was lost.' : 'Something is wrong.')
    return { kept: messages.length, given: model.given }
  } finally {
    await ledger.close()
  }
}

if (/[\\/]langchain\.[jt]s$/u.test(process.argv[1] ?? '')) await langchain()
