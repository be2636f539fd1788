/** Transcripts that another machine reads and sends item by item. */
import { importers } from '../application/importers/index.js'
import { withOwnIds } from '../application/importers/pushed-ids.js'
import { observedIds } from '../application/importers/observed-ids.js'
import { CONTENT_ID_LENGTH } from '../application/importers/content-id.js'
import { createTranscriptRecorder } from '../application/importers/record-transcript.js'
import type { TranscriptItem } from '../application/importers/transcript.js'
import type { Transcripts } from './ledger.js'
import * as calls from '../schema/calls/transcripts.js'
import { problem, valueOf } from './problem.js'
import { programs, type TranscriptsParts } from './transcripts.js'
import { withLost } from './with-lost.js'

export function createReceiving(parts: TranscriptsParts): Pick<Transcripts, 'receive'> {
  const { gate, freshness, provenanceOf } = parts
  /** An id from content, keyed in an erasable ledger: a plain hash would confirm a guess of an erased text. */
  const ownId = (plainId: string): string =>
    parts.log.keys?.fingerprint('content id of a push', plainId).slice(0, CONTENT_ID_LENGTH) ?? plainId

  return {
    async receive(options) {
      const { from, scope, allows, ...by } = gate.enter(calls.receiveTranscript, options)
      const importer = importers.find(({ program }) => program === from)
      if (importer === undefined) {
        throw problem({ kind: 'NoSuchProgram', program: from, programs: programs() })
      }
      const { program } = importer
      freshness.follow()
      const recorder = createTranscriptRecorder(parts)
      const provenance = provenanceOf(by)
      const idOf = observedIds(parts.log, program, scope)

      async function* allowed(items: readonly TranscriptItem[]): AsyncGenerator<TranscriptItem> {
        for (const item of items) {
          const withIds = withOwnIds(item, ownId)
          if (withIds.kind === 'conversation') await allows?.(await idOf(withIds.sourceId))
          yield withIds
        }
      }
      return await Promise.resolve({
        async record(items, { writtenAt } = {}) {
          gate.writes('transcripts.receive')
          const how = { program, scope, settings: parts.policy, provenance, writtenAt }
          const { conversations } = valueOf(await recorder.take(allowed(items), how), problem)
          for (const { position } of conversations) freshness.noteRecorded({ position })
          return await withLost(parts, conversations)
        },
      })
    },
  }
}
