/** The read models. A new one is a folder beside this file and a line here. */
import { archiveIndex } from './archive-index/projection.js'
import { clipArchive } from './clip-archive/projection.js'
import { editionsProjection } from './editions/projection.js'
import { liveMessages } from './live-messages/projection.js'
import { messageIdsProjection } from './message-ids/projection.js'
import type { Projection } from './projection.js'
import type { EventStore } from '../src/ports/event-store.js'

export const projections: readonly Projection[] = [liveMessages, archiveIndex, clipArchive, editionsProjection]

/** Those that a log wants: one that does not recognize every id that comes back needs to know where each stands. */
export const projectionsFor = ({ recognizes }: Pick<EventStore, 'recognizes'>): readonly Projection[] =>
  recognizes === 'always' ? projections : [...projections, messageIdsProjection]
