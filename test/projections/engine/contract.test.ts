/** Every read model, asked what every read model is asked. */
import { projections } from '../../../projections/index.js'
import { describeProjection, describeProjectionsAfterHistories } from '../../contracts/projection.js'
import { everyLine } from '../../support/conversation-story.js'

for (const projection of projections) describeProjection(projection, everyLine)

describeProjectionsAfterHistories(projections)
