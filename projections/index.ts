/** The read models. To add one, create a directory in `read-models` and add a line here. */
import { archiveIndex } from './read-models/archive-index/projection.js'
import { clipArchive } from './read-models/clip-archive/projection.js'
import { editionsProjection } from './read-models/editions/projection.js'
import { liveMessages } from './read-models/live-messages/projection.js'
import { messageIdsProjection } from './read-models/message-ids/projection.js'
import { usageProjection } from './read-models/usage/projection.js'
import type { Projection } from './engine/projection.js'
import type { EventStore } from '../src/ports/event-store.js'

export const projections: readonly Projection[] = [
  liveMessages,
  archiveIndex,
  clipArchive,
  editionsProjection,
  usageProjection,
]

/** The read models for a log. A store that does not always recognize a repeated id needs the index of message ids. */
export const projectionsFor = ({ recognizes }: Pick<EventStore, 'recognizes'>): readonly Projection[] =>
  recognizes === 'always' ? projections : [...projections, messageIdsProjection]
