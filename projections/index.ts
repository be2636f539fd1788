/** The read models. A new one is a folder beside this file and a line here. */
import { archiveIndex } from './read-models/archive-index/projection.js'
import { clipArchive } from './read-models/clip-archive/projection.js'
import { editionsProjection } from './read-models/editions/projection.js'
import { liveMessages } from './read-models/live-messages/projection.js'
import { messageIdsProjection } from './read-models/message-ids/projection.js'
import type { Projection } from './engine/projection.js'
import type { EventStore } from '../src/ports/event-store.js'

export const projections: readonly Projection[] = [liveMessages, archiveIndex, clipArchive, editionsProjection]

/** Those that a log wants: one that does not recognize every id that comes back needs to know where each stands. */
export const projectionsFor = ({ recognizes }: Pick<EventStore, 'recognizes'>): readonly Projection[] =>
  recognizes === 'always' ? projections : [...projections, messageIdsProjection]
