/**
 * The smallest whole use: append messages, let the ledger compact, hand the context to a model, search what left it.
 * Run it with `node node_modules/context-ledger/dist/examples/first-compaction.js`.
 */
import { openLedger } from 'context-ledger'

/** @param store where the ledger is; `memory` leaves nothing behind */
export async function firstCompaction(store = 'memory', say: (line: string) => void = console.log): Promise<void> {
  // A window of 2,000 tokens is far too small for a real model: it makes a short conversation compact several times.
  const ledger = await openLedger({ store, summarizer: 'extractive', policy: { modelMaxTokens: 2_000 } })
  try {
    const id = 'first-compaction'
    await ledger.append(id, { role: 'system', content: 'You are a careful assistant.' })
    await ledger.append(id, {
      role: 'user',
      content: 'We decided that invoices are rounded per line, never per total. Ticket BILL-77.',
      pinned: true,
    })
    for (let turn = 1; turn <= 60; turn += 1) {
      await ledger.append(id, [
        {
          role: 'user',
          content: `Question ${String(turn)}: what does file src/module-${String(turn)}.ts do, and which module calls it?`,
        },
        {
          role: 'assistant',
          content: `It validates input number ${String(turn)}, fails with E_${String(turn * 7)} where a field is missing, and is called by src/index.ts.`,
        },
      ])
    }
    // Appends never wait for a summary; whoever wants to see the result does.
    await ledger.admin.waitForCompaction(id)

    const context = await ledger.context(id)
    say(
      `${String(context.messages.length)} messages, ${String(context.tokens)} tokens, hash ${context.hash.slice(0, 12)}`,
    )
    // The view of what was compacted is the end of the system message.
    const system = context.messages[context.viewAt ?? 0]?.content
    say(typeof system === 'string' ? system.slice(context.viewOffset ?? 0) : '')

    const {
      hits: [hit],
    } = await ledger.search('E_70 missing field', { conversationId: id, limit: 1 })
    say(`found in ${hit?.batchId ?? 'the live window'}: ${hit?.text ?? ''}`)

    const proof = await ledger.admin.verify(id)
    say(`verified ${String(proof.events)} facts: ${proof.ok ? 'nothing was lost' : JSON.stringify(proof.problems)}`)
  } finally {
    await ledger.close()
  }
}

if (/[\\/]first-compaction\.[jt]s$/u.test(process.argv[1] ?? '')) await firstCompaction()
