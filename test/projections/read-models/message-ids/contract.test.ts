/** The ids of messages, asked what every read model is asked. */
import { messageIdsProjection } from '../../../../projections/read-models/message-ids/projection.js'
import { describeProjection } from '../../../contracts/projection.js'
import { everyLine } from '../../../support/conversation-story.js'

describeProjection(messageIdsProjection, everyLine)
