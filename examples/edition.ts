/**
 * An edition from prompt to adoption: a prompt loses important facts, another one compacts the same history, the two are
 * compared, the better one is adopted, and then reverted. No message is lost. The example needs no key: the model is a
 * stub that keeps the sentences with one of the words that its prompt names.
 * Run it with `node node_modules/context-ledger/dist/examples/edition.js`.
 */
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger, type EditionReport, type PreparedSummary, type Summarizer } from 'context-ledger'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A prompt, and a stub of the model that follows it: it keeps the sentences with one of the quoted words. */
function summarizerWith(name: string, prompt: string): Summarizer {
  const words = [...prompt.matchAll(/"(\w+)"/gu)].map((match) => match[1] ?? '')
  const events = { strategy: 'sentences', provider: 'stand-in', model: 'stand-in-1' }
  return {
    ...events,
    windowTokens: 128_000,
    prepare(job): PreparedSummary {
      const texts =
        job.kind === 'chunk'
          ? job.messages.map(({ content }) => (typeof content === 'string' ? content : ''))
          : job.summaries.map(({ text }) => text)
      const retained = texts
        .flatMap((text) => text.split(/(?<=[.?!])\s+/u))
        .filter((sentence) => words.some((word) => sentence.includes(word)))
      // Four characters are about a token; a summary above `maxSummaryTokens` would be rejected.
      const request = (retained.length === 0 ? 'Nothing of note.' : retained.join(' ')).slice(
        0,
        job.maxSummaryTokens * 3,
      )
      return {
        job,
        ...events,
        parameters: {},
        prompt: { name, sha256: sha256(prompt), text: prompt },
        formatterVersion: 1,
        requestHash: sha256(JSON.stringify([prompt, job.maxSummaryTokens, request])),
        request,
      }
    },
    summarize: async ({ request }) => ({ text: String(request), durationMs: 0 }),
  }
}

const chatty = summarizerWith('chatty', 'Keep every sentence with "Good" or "Sure".')
const careful = summarizerWith('careful', 'Keep every sentence with "must", "never", "Never" or "fails".')

const CONVERSATION = 'release'
export interface EditionStory {
  readonly report: EditionReport
  /** The context before the edition, with it, and after the revert. */
  readonly contexts: readonly [string, string, string]
}

/** Runs the example and returns its results. */
export async function edition(say: (line: string) => void = console.log): Promise<EditionStory> {
  const folder = await mkdtemp(join(tmpdir(), 'context-ledger-example-'))
  try {
    let ledger = await openLedger({ store: folder, summarizer: chatty, policy: { modelMaxTokens: 2_000 } })
    const contextText = async (): Promise<string> =>
      (await ledger.context(CONVERSATION)).messages
        .map(({ content }) => (typeof content === 'string' ? content : ''))
        .join('\n')
    // The first request of a conversation is repeated after a compaction, so the rule is in the second one.
    await ledger.append(CONVERSATION, { role: 'user', content: 'Good morning. Today is the release.' })
    await ledger.append(CONVERSATION, {
      role: 'user',
      content: 'Never deploy from a branch. The release must have ticket REL-412 in src/release/notes.md.',
    })
    for (let turn = 1; turn <= 40; turn += 1) {
      await ledger.append(CONVERSATION, [
        {
          role: 'user',
          content: `Good morning, this is turn ${String(turn)}. Is the build of src/part-${String(turn)}.ts green? We would like to know before noon.`,
        },
        {
          role: 'assistant',
          content: `Sure, I looked. The build of part ${String(turn)} fails with E_${String(turn * 7)} and was started again.`,
        },
      ])
      await ledger.admin.waitForCompaction(CONVERSATION)
    }
    const before = await contextText()

    // The effect of a policy is computed first: nothing is recorded, and no model is called.
    const tried = await ledger.editions.whatIf([CONVERSATION], {
      policies: [{ name: 'twice the window', settings: { modelMaxTokens: 4_000 } }],
    })
    for (const { name, courses } of tried.rows)
      for (const { cycles, tokensSent } of courses)
        say(`${name}: ${String(cycles)} cycles, ${String(tokensSent)} tokens sent`)
    await ledger.close()

    // The summarizer of the ledger writes its editions.
    ledger = await openLedger({ store: folder, summarizer: careful })
    const { editionId, ended } = await ledger.editions.replay({ conversations: [CONVERSATION] })
    if (ended !== 'done') throw new Error(`the replay ended: ${ended}`)
    const compared = await ledger.editions.compare([CONVERSATION], editionId)
    const report = compared.conversations[0]?.report
    if (report === undefined) throw new Error('nothing was compared')
    for (const { kind, total, against, edition: kept, gained } of report.losses)
      say(
        `${kind}: ${String(against.kept)} of ${String(total)} kept before, ${String(kept.kept)} now${gained.kept.items[0] === undefined ? '' : `, such as ${gained.kept.items[0].text}`}`,
      )

    await ledger.editions.adopt(CONVERSATION, editionId)
    const adopted = await contextText()
    const proof = await ledger.admin.verify(CONVERSATION)
    say(
      `adopted: the context says "Never deploy" ${adopted.includes('Never deploy') ? 'now' : 'still not'}; ${proof.ok ? 'nothing was lost' : `${String(proof.problems.length)} problems`}`,
    )

    await ledger.editions.revert(CONVERSATION, editionId)
    const reverted = await contextText()
    say(`reverted: the context is ${reverted === before ? 'what it was' : 'another'}`)
    await ledger.close()
    return { report, contexts: [before, adopted, reverted] }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

if (/[\\/]edition\.[jt]s$/u.test(process.argv[1] ?? '')) await edition()
