import { z } from 'zod'
import { configurationRenamed, configurationSchema, namesInConfiguration, withShape } from './configuration.js'
import { configurationLine } from './lines.js'
import { printable } from '../text/printable.js'
import { defineEvent } from './event-definition.js'
import { id, revision } from './fields.js'
import { namesOfSummarizer } from './summarizer-record.js'
import { saysNoMore, within } from './upcast.js'
import { NO_TEXTS } from './texts.js'

// Version 2: the shape of contexts. Version 3: another name of a setting.
export const editionStarted = defineEvent({
  description:
    'an edition started: it compacts the same history with this configuration and this summarizer; first in the stream of an edition, and again when a dropped one is resumed',
  version: 4,
  stream: 'edition',
  opensStream: true,
  activity: 'create',
  withoutContent: ['editionId', 'conversationId', 'summarizer', 'conversationRevision'],
  texts: NO_TEXTS,
  schema: z.object({
    editionId: id,
    conversationId: id,
    configuration: configurationSchema,
    /** The summarizer of the edition. */
    summarizer: z.object({ strategy: id, provider: id, model: id }),
    /** The conversation's last event when the edition started. */
    conversationRevision: revision,
    /**
     * Messages that were pinned at that time. The edition never compacts them, although it reads the messages before
     * their pins.
     */
    pinned: z.array(revision),
  }),
  upcasters: { 1: withShape, 2: within('configuration', configurationRenamed), 3: saysNoMore },
  namesFromOutside: ({ configuration, summarizer }) => ({
    ...namesInConfiguration(configuration),
    ...namesOfSummarizer(summarizer),
  }),
  describe: ({ editionId, summarizer, configuration }) =>
    `edition ${editionId} by ${summarizer.strategy} (${printable(summarizer.model)}); ${configurationLine(configuration)}`,
})
