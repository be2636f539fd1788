/** `erase`: shows what an erasure removes, and removes it with `--yes`. */
import { LedgerError } from '../../../lib/ledger-error.js'
import type { CompletedErasure, ErasureTarget, Ledger, PlannedErasure, ReplayOptions } from '../../../library/ledger.js'
import { toWire } from '../../../domain/values/revision.js'
import { text, toggle, type CliCommand } from '../command.js'
import type { CommandArgs } from '../command-args.js'
import { colours, line, many, printable } from '../output.js'
import { defaultHookFolder } from '../hook/hook-folder.js'
import { withLedger } from '../session.js'
import { removeWaitingNotes, transcriptsOf, waitingUploadsOf } from '../local-texts.js'
import { writtenCopies } from '../written-copies.js'

function targetOf(args: CommandArgs): ErasureTarget {
  const [conversationId, messageId, subject] = [args.text('conversation'), args.text('message'), args.text('subject')]
  if (subject !== undefined) {
    if (conversationId !== undefined || messageId !== undefined)
      throw new LedgerError('Usage', '--subject erases everything about a person: name no conversation and no message')
    return { subject }
  }
  if (conversationId === undefined)
    throw new LedgerError(
      'Usage',
      'name what to erase: --subject ID, --conversation ID, or --conversation ID --message ID',
    )
  return messageId === undefined ? { conversationId } : { conversationId, messageId }
}

/** Texts that the erasure does not reach, by what they are. */
interface NotErased {
  /** Reports, exports and copies of the log that commands wrote. */
  readonly copies: readonly string[]
  readonly transcripts: readonly string[]
  readonly uploads: readonly string[]
}

async function notErased(store: string, planned: readonly PlannedErasure[]): Promise<NotErased> {
  const ids = planned.map(({ conversationId }) => conversationId)
  return {
    copies: await writtenCopies(store, ids),
    transcripts: await transcriptsOf(planned),
    uploads: await waitingUploadsOf(planned),
  }
}

async function showNotErased({ copies, transcripts, uploads }: NotErased): Promise<void> {
  const show = async (files: readonly string[], what: string): Promise<void> => {
    if (files.length > 0) await line(colours.yellow(`not erased: ${what}: ${files.map(printable).join(', ')}`))
  }
  await show(copies, `${many(copies.length, 'copy', 'copies')} of these conversations, which you can delete`)
  await show(transcripts, `${many(transcripts.length, 'transcript')} of other programs, which these programs still use`)
  await show(uploads, `${many(uploads.length, 'upload')} that \`push\` has not sent`)
}

async function showPlan(planned: readonly PlannedErasure[], remaining: NotErased): Promise<void> {
  if (planned.length === 0) await line('nothing to erase: the ledger has no text about this person')
  for (const { conversationId, messages, summaries, editions, copyOf, notAllowed } of planned) {
    const otherCopies = [
      ...(summaries === 0 ? [] : [`${many(summaries, 'summary', 'summaries')} made from them`]),
      ...(editions.length === 0 ? [] : [`summaries of ${many(editions.length, 'edition')}`]),
    ]
    const origin = copyOf === undefined ? '' : `, copied from ${printable(copyOf)}`
    await line(
      `${printable(conversationId)}: ${[many(messages.length, 'message'), ...otherCopies].join(', ')}${origin}`,
    )
    if (notAllowed !== undefined) await line(colours.yellow(`not allowed: ${notAllowed}`))
  }
  await showNotErased(remaining)
  await line(
    colours.dim('also erased: rows of lists and search, vectors, titles, and hashes of these texts. Other texts stay.'),
  )
}

/** Prints the commands for a summary of the remaining messages. */
async function offerNewSummary({ conversationId, receipt }: CompletedErasure): Promise<void> {
  if (receipt.summaries === 0) return
  const id = /^[\w./~-]+$/u.test(conversationId) ? conversationId : JSON.stringify(printable(conversationId))
  await line(
    colours.dim(
      `for a new summary of what remains: \`context-ledger replay ${id} --yes\`, then \`context-ledger editions adopt EDITION ${id}\``,
    ),
  )
}

async function showCompleted(completed: readonly CompletedErasure[], offers: boolean): Promise<void> {
  for (const each of completed) {
    const { conversationId, receipt } = each
    const { messages, summaries, keys, filesCleaned } = receipt
    await line(
      `${colours.green('erased')} ${printable(conversationId)}: ${many(messages, 'message')}, ${many(summaries, 'summary', 'summaries')}; ${many(keys.length, 'key')} destroyed`,
    )
    if (!filesCleaned)
      await line(
        colours.yellow(
          'the server did not allow to remove old pages: run VACUUM FULL and CHECKPOINT as its administrator',
        ),
      )
    if (offers) await offerNewSummary(each)
  }
}

/** A new summary of what remains in a conversation, in force. */
interface Resummarized {
  readonly conversationId: string
  readonly editionId: string
}

/** Makes a new summary of what remains of each conversation that lost summaries, and adopts it. */
async function resummarize(
  { editions }: Pick<Ledger, 'editions'>,
  completed: readonly CompletedErasure[],
  policy: ReplayOptions['policy'],
): Promise<Resummarized[]> {
  const options = policy === undefined ? {} : { policy }
  const made: Resummarized[] = []
  for (const { conversationId, receipt } of completed) {
    if (receipt.summaries === 0) continue
    const { editionId } = await editions.replay({ conversations: [conversationId], ...options })
    await editions.adopt(conversationId, editionId, options)
    made.push({ conversationId, editionId })
  }
  return made
}

/** Removes the copies that hooks of this machine have of erased texts. */
async function removeCopies(ledger: Ledger, planned: readonly PlannedErasure[]): Promise<void> {
  removeWaitingNotes(planned)
  const { refreshGuarded } = await import('../hook/refresh-guard.js')
  await refreshGuarded(ledger, defaultHookFolder())
}

export const eraseTexts: CliCommand = {
  words: 'erase',
  describe: 'Erase a conversation, a message, or everything about a person, with the summaries made from it',
  uses: ['open', 'record', 'summarize'],
  policy: true,
  options: {
    subject: text('Erase everything about this person, in every conversation'),
    conversation: text('Erase this conversation'),
    message: text('With --conversation: erase only this message'),
    reason: text('Recorded with the erasure; must not contain personal data'),
    'legal-basis': text('Erase also what a retention rule keeps: why this is lawful. Recorded with the erasure'),
    resume: toggle('Continue erasures that were interrupted'),
    yes: toggle('Erase. Without it, only the plan is shown'),
    resummarize: toggle('After the erasure: make a new summary of what remains, and adopt it'),
  },
  examples: [
    ['$0 erase --subject anna@example.org --reason "request 12"', 'show what would be erased'],
    ['$0 erase --subject anna@example.org --reason "request 12" --yes', 'erase it'],
  ],
  async run(args) {
    const target = args.is('resume') ? undefined : targetOf(args)
    const [reason, legalBasis] = [args.text('reason'), args.text('legal-basis')]
    if (target !== undefined && args.is('yes') && reason === undefined)
      throw new LedgerError('Usage', '--reason is required: it is recorded with the erasure')
    const renews = args.is('resummarize')
    if (renews && target !== undefined && !args.is('yes'))
      throw new LedgerError('Usage', '--resummarize needs --yes: without it, nothing is erased')
    // Of a whole conversation nothing remains.
    const offers = !renews && target !== undefined && ('subject' in target || 'messageId' in target)
    await withLedger(args.flags, renews ? { writes: true } : {}, async ({ ledger, config }) => {
      const { erasure } = ledger.admin
      const planned = target === undefined ? [] : await erasure.plan(target)
      const remaining = await notErased(config.store, planned)
      if (!args.json && target !== undefined) await showPlan(planned, remaining)
      const completed =
        target === undefined
          ? await erasure.resume()
          : args.is('yes') && reason !== undefined
            ? await erasure.run(target, { reason, ...(legalBasis === undefined ? {} : { legalBasis }) })
            : undefined
      if (completed !== undefined) await removeCopies(ledger, planned)
      if (!args.json && completed === undefined) await line('nothing was erased: pass --yes to erase it')
      if (!args.json && completed !== undefined) await showCompleted(completed, offers)
      const resummarized = renews ? await resummarize(ledger, completed ?? [], config.policy) : undefined
      if (args.json)
        await line(
          toWire({
            planned,
            ...Object.fromEntries(Object.entries(remaining).filter(([, files]) => files.length > 0)),
            ...(completed === undefined ? {} : { completed }),
            ...(resummarized === undefined ? {} : { resummarized }),
          }),
        )
      else
        for (const { conversationId, editionId } of resummarized ?? [])
          await line(`new summary of what remains of ${printable(conversationId)}: edition ${editionId} is active`)
    })
  },
}
