/** Prints the result of a verification. */
import type { Problem, Verification } from '../../../application/audit/verify.js'
import { titlesOf, type Titles } from '../../../library/titles.js'
import type { CheckpointCoverage, Ledger } from '../../../library/ledger.js'
import type { Manifest } from '../../../ports/manifest.js'
import { colours, count, line, many, note, noteColours, printable } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { idWithTitle, quotedTitle } from '../titles.js'

/** A written manifest. */
export interface Exported {
  readonly file: string
  readonly fingerprint: string
  readonly streams: number
  readonly events: number
}

/** A problem or an observation as JSON. */
const problemDocument = ({ stream, conversationId, revision, rule, detail }: Problem): object => ({
  stream,
  ...(conversationId === undefined ? {} : { conversationId }),
  revision,
  rule,
  detail,
})

const location = ({ stream, conversationId = '', revision }: Problem, titles: Titles): string =>
  `${printable(stream)}${quotedTitle(conversationId, titles)}${revision < 0 ? '' : ` revision ${revision.toString()}`}`

/** Prints what a checkpoint covers. */
async function showCoverage(
  { size, signedBy, cosignatures, unknownSigners, after, newest }: CheckpointCoverage,
  ok: boolean,
  pinned: boolean,
): Promise<void> {
  await line(
    `compared with a checkpoint of ${many(size, 'event')}, signed by ${signedBy}${ok ? ': the same events in the same order' : ''}`,
  )
  for (const { name, time } of cosignatures)
    await line(
      `  cosigned by ${printable(name)}${time === undefined ? '' : ` at ${new Date(time * 1_000).toISOString()}`}`,
    )
  if (unknownSigners.length > 0)
    await line(`  not verified: the signatures of ${unknownSigners.map(printable).join(', ')} (keys not given)`)
  if (after > 0) note(`${many(after, 'event')} after the checkpoint: it says nothing about them`)
  if (newest !== undefined)
    note(
      noteColours.yellow(
        `this is not the newest checkpoint of the ledger: the one of ${newest.createdAt} covers ${many(newest.size, 'event')}`,
      ),
    )
  if (!pinned)
    note(
      noteColours.yellow(
        'without --public-key the signature was verified with a key that this ledger names: it does not prove who signed',
      ),
    )
}

/** Prints the result. @param pinned whether the command named the required signer of the manifest */
export async function showVerification(
  {
    ok,
    streams,
    conversations,
    events,
    summaries,
    problems,
    observations,
    redactionOff = [],
    checkpoint,
    against: compared = { streams: 0, events: 0 },
  }: Verification,
  against: Manifest | undefined,
  pinned: boolean,
  exported: Exported | undefined,
  json: boolean,
  ledger: Pick<Ledger, 'list'>,
): Promise<void> {
  const signed =
    against === undefined
      ? {}
      : {
          against: {
            takenAt: against.header.takenAt,
            ledger: against.header.ledger,
            ...compared,
            signedBy: against.fingerprint,
            signerPinned: pinned,
          },
        }
  if (json) {
    await line(
      toWire({
        ok,
        streams,
        conversations,
        events,
        summaries,
        problems: problems.map(problemDocument),
        observations: observations.map(problemDocument),
        ...(redactionOff.length === 0 ? {} : { redactionOff }),
        ...signed,
        ...(checkpoint === undefined ? {} : { checkpoint: { ...checkpoint, signerPinned: pinned } }),
        ...(exported === undefined ? {} : { exported }),
      }),
    )
    return
  }
  const titles = await titlesOf(ledger, [
    ...[...problems, ...observations].flatMap(({ conversationId = [] }) => conversationId),
    ...redactionOff,
  ])
  for (const problem of problems)
    await line(`${colours.red(problem.rule)} ${location(problem, titles)}: ${printable(problem.detail)}`)
  for (const observation of observations)
    await line(
      colours.dim(
        `observed ${observation.rule} ${location(observation, titles)}: in an imported transcript, ${printable(observation.detail)}`,
      ),
    )
  for (const conversationId of redactionOff)
    await line(
      `${colours.yellow('redaction off')} ${idWithTitle(conversationId, titles)}: secrets were not replaced before they were recorded`,
    )
  const what = `${many(streams, 'stream')} (${many(conversations, 'conversation')}), ${many(events, 'event')}`
  await line(
    ok
      ? `${colours.green('ok')}: ${what}: nothing lost, nothing changed, all read models match the events`
      : `${colours.red(many(problems.length, 'problem'))} in ${what}`,
  )
  const { recomputed, notRecomputed } = summaries
  if (recomputed + notRecomputed > 0)
    await line(
      `${many(recomputed, 'summary', 'summaries')} verified by recomputing their request; not recomputed: ${count(notRecomputed)}`,
    )
  if (against !== undefined) {
    await line(
      `compared with a manifest of ${against.header.takenAt}: ${compared.streams === against.streams ? '' : `${count(compared.streams)} of its `}${many(against.streams, 'stream')}, ${many(compared.events, 'event')}, signed by ${against.fingerprint}`,
    )
    if (!pinned)
      note(
        noteColours.yellow('without --public-key the signature proves only that the file is intact, not who signed it'),
      )
  }
  if (checkpoint !== undefined) await showCoverage(checkpoint, ok, pinned)
  if (exported !== undefined)
    await line(
      `${exported.file}: ${many(exported.streams, 'stream')}, ${many(exported.events, 'event')}, signed by ${exported.fingerprint}; store the fingerprint out of reach of anyone with access to the database`,
    )
}
