/** `verify`: the proof that nothing was lost; ends with a status of its own where it fails. */
import { Ended, EXIT } from './errors.js'
import type { Flags } from './flags.js'
import { colours, count, line, many, shown, toJson } from './output.js'
import { startProgress } from './progress.js'
import { withLedger } from './session.js'

/** Runs the command. */
export async function runVerify(flags: Flags, conversationId: string | undefined, json: boolean): Promise<void> {
  await withLedger(flags, {}, async ({ ledger }) => {
    const total = conversationId === undefined ? (await ledger.list()).length : 1
    const progress = await startProgress('verifying', total)
    const { ok, conversations, events, problems } = await ledger
      .verify(conversationId, { onConversation: (done) => { progress.update(done, `${count(done)} of ${many(total, 'conversation')}`) } })
      .finally(() => { progress.stop() })
    if (json) await line(toJson({ ok, conversations, events, problems: problems.map(({ conversationId: id, revision, rule, detail }) => ({ conversationId: id, revision, rule, detail })) }))
    else {
      for (const problem of problems) await line(`${colours.red(problem.rule)} ${shown(problem.conversationId)}${problem.revision < 0n ? '' : ` revision ${problem.revision.toString()}`}: ${shown(problem.detail)}`)
      const what = `${many(conversations, 'conversation')}, ${many(events, 'event')}`
      await line(ok ? `${colours.green('ok')}: ${what}: nothing lost, nothing changed, every row as the facts make it` : `${colours.red(many(problems.length, 'problem'))} in ${what}`)
    }
    if (!ok) throw new Ended(EXIT.untrusted)
  })
}
