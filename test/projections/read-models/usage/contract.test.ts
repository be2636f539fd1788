/** The contract of read models for usage, with a story that has usage of every kind. */
import { usageProjection } from '../../../../projections/read-models/usage/projection.js'
import { describeProjection } from '../../../contracts/projection.js'
import { appended, compactionFailed, summarized, summarizer } from '../../../support/builders.js'
import { everyLine } from '../../../support/conversation-story.js'

const usage = { inputTokens: 900, outputTokens: 40, cacheReadTokens: 800 }

describeProjection(usageProjection, [
  ...everyLine,
  {
    events: [
      appended('u1', { role: 'assistant', attributes: { answerId: 'a\0', model: 'model-\ud800', usage } }),
      appended('u2', { attributes: { earlierUsage: { answerId: 'a\0', usage } } }),
      summarized('unreported', ['u1'], { summarizer: summarizer({ model: 'm', provider: 'p' }) }),
      compactionFailed(),
    ],
  },
])
