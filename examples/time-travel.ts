/**
 * An auditor's question, weeks later: what exactly did the model see when it gave this answer, and what did a
 * compaction cycle take out of its sight? Run it with `node node_modules/context-ledger/dist/examples/time-travel.js`.
 */
import { openLedger } from 'context-ledger'

/** @returns whether the context that the answer names is still the same, byte for byte */
export async function timeTravel(say: (line: string) => void = console.log): Promise<boolean> {
  // A window far too small for a real model, so that a short conversation goes through several cycles.
  const ledger = await openLedger({ store: 'memory', summarizer: 'extractive', policy: { modelMaxTokens: 2_000 } })
  try {
    const id = 'time-travel'
    const talk = async (turns: number): Promise<void> => {
      for (let turn = 1; turn <= turns; turn += 1) {
        await ledger.append(id, [
          { role: 'user', content: `Invoice ${String(turn)} of customer ${String(turn * 3)} is off by one cent. Why?` },
          {
            role: 'assistant',
            content: `Its lines were rounded one by one, and the total of invoice ${String(turn)} was not: src/invoice-${String(turn)}.ts, line ${String(turn * 7)}.`,
          },
        ])
      }
      await ledger.admin.waitForCompaction(id)
    }
    await ledger.append(id, { role: 'user', content: 'Refunds above 500 euro need a second pair of eyes.' })
    await talk(50)

    // The agent answers, and says what it answers.
    await ledger.append(id, { id: 'question', role: 'user', content: 'May I refund 700 euro alone?' })
    const currentContext = await ledger.context(id)
    await ledger.append(id, {
      id: 'answer',
      role: 'assistant',
      content: 'Yes, go ahead.',
      answers: { revision: String(currentContext.revision), hash: currentContext.hash },
    })
    await talk(60)

    // Much later the answer has left the context; the log still says what it was an answer to.
    for await (const event of ledger.log(id)) {
      if (event.type !== 'MessageAppended' || event.data.answers === undefined) continue
      const { revision, hash } = event.data.answers
      const then = await ledger.context(id, { at: revision })
      const now = await ledger.context(id)
      const knew = (content: unknown): boolean => JSON.stringify(content).includes('second pair of eyes')
      say(
        `"${typeof event.data.content === 'string' ? event.data.content : '…'}" answered ${String(then.messages.length)} messages at revision ${revision}; its hash is ${then.hash === hash ? 'the recorded one' : 'another one'}`,
      )
      say(`the rule about refunds was ${knew(then.messages) ? 'in' : 'not in'} what the model saw`)
      say(
        `now: ${String(now.messages.length)} messages at revision ${String(now.revision)}, and the answer is ${now.messageIds.includes('answer') ? 'still there' : 'among what was compacted'}`,
      )

      // The same moment through the other view. No model was given this; `inForce` names what one was given.
      const summarized = await ledger.context(id, { at: revision, view: 'session-summary' })
      say(
        `as a session summary it would have had ${String(summarized.tokens)} tokens instead of ${String(then.tokens)}`,
      )

      const { messages, batches, from, to } = await ledger.diff(id, { cycle: 1 })
      say(
        `cycle 1: ${String(messages.left.length)} messages left, ${String(batches.came.length)} batches came, ${String(from.tokens)} → ${String(to.tokens)} tokens`,
      )
      return JSON.stringify(then.messages) === JSON.stringify(currentContext.messages) && then.hash === hash
    }
    return false
  } finally {
    await ledger.close()
  }
}

if (/[\\/]time-travel\.[jt]s$/u.test(process.argv[1] ?? '')) await timeTravel()
