/** The read models. A new one is a folder beside this file and a line here. */
import { archiveIndex } from './archive-index/projection.js'
import { clipArchive } from './clip-archive/projection.js'
import { liveMessages } from './live-messages/projection.js'
import type { Projection } from './projection.js'

export const projections: readonly Projection[] = [liveMessages, archiveIndex, clipArchive]
