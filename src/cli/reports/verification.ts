/** What a verification found, as it is shown. */
import type { Problem, Verification } from '../../audit/verify.js'
import type { Manifest } from '../../ports/manifest.js'
import { colours, count, line, many, note, noteColours, printable, toJson } from '../output.js'

/** A manifest that was written. */
export interface Exported {
  readonly file: string
  readonly fingerprint: string
  readonly streams: number
  readonly events: number
}

/** A problem or an observation as JSON has it. */
const asTold = ({ stream, conversationId, revision, rule, detail }: Problem): object => ({
  stream,
  ...(conversationId === undefined ? {} : { conversationId }),
  revision,
  rule,
  detail,
})

const placeOf = ({ stream, revision }: Problem): string =>
  `${printable(stream)}${revision < 0n ? '' : ` revision ${revision.toString()}`}`

/**
 * Shows what was found. @param pinned whether the command named who has to have signed the manifest
 */
export async function showVerification(
  {
    ok,
    streams,
    conversations,
    events,
    summaries,
    problems,
    observations,
    against: held = { streams: 0, events: 0 },
  }: Verification,
  against: Manifest | undefined,
  pinned: boolean,
  exported: Exported | undefined,
  json: boolean,
): Promise<void> {
  const signed =
    against === undefined
      ? {}
      : {
          against: {
            takenAt: against.header.takenAt,
            ledger: against.header.ledger,
            ...held,
            signedBy: against.fingerprint,
            signerPinned: pinned,
          },
        }
  if (json) {
    await line(
      toJson({
        ok,
        streams,
        conversations,
        events,
        summaries,
        problems: problems.map(asTold),
        observations: observations.map(asTold),
        ...signed,
        ...(exported === undefined ? {} : { exported }),
      }),
    )
    return
  }
  for (const problem of problems)
    await line(`${colours.red(problem.rule)} ${placeOf(problem)}: ${printable(problem.detail)}`)
  for (const observation of observations)
    await line(
      colours.dim(
        `observed ${observation.rule} ${placeOf(observation)}: what another program did ${printable(observation.detail)}`,
      ),
    )
  const what = `${many(streams, 'stream')} (${many(conversations, 'conversation')}), ${many(events, 'event')}`
  await line(
    ok
      ? `${colours.green('ok')}: ${what}: nothing lost, nothing changed, every row as the events make it`
      : `${colours.red(many(problems.length, 'problem'))} in ${what}`,
  )
  const { recomputed, notRecomputed } = summaries
  if (recomputed + notRecomputed > 0)
    await line(
      `${many(recomputed, 'summary', 'summaries')} proved by the request that made them; not recomputed: ${count(notRecomputed)}`,
    )
  if (against !== undefined) {
    await line(
      `compared with a manifest of ${against.header.takenAt}: ${held.streams === against.streams ? '' : `${count(held.streams)} of its `}${many(against.streams, 'stream')}, ${many(held.events, 'event')}, signed by ${against.fingerprint}`,
    )
    if (!pinned)
      note(
        noteColours.yellow(
          'without --public-key the signature proves only that the file is whole, and not who signed it',
        ),
      )
  }
  if (exported !== undefined)
    await line(
      `${exported.file}: ${many(exported.streams, 'stream')}, ${many(exported.events, 'event')}, signed by ${exported.fingerprint}; keep that fingerprint where whoever can write the database cannot`,
    )
}
