/** Every read model, asked what every read model is asked. */
import { projections } from '../../projections/index.js'
import { describeProjection } from '../contracts/projection.js'
import { everyFact } from '../support/conversation-story.js'

for (const projection of projections) describeProjection(projection, everyFact)
