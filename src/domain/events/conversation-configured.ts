import {
  configurationRenamed,
  configurationSchema,
  namesInConfiguration,
  upcastConfiguration,
} from './configuration.js'
import { configurationLine } from './lines.js'
import { defineEvent } from './event-definition.js'
import { NO_TEXTS } from './texts.js'
import { saysNoMore } from './upcast.js'

// Version 2: the shape of contexts. Version 3: another name of a setting.
// Version 4: the view `working-state`.
export const conversationConfigured = defineEvent({
  description: 'the settings of the conversation from here on; first in every stream, and again after each change',
  version: 4,
  opensStream: true,
  triggers: true,
  activity: 'update',
  label: 'Settings',
  withoutContent: ['policy', 'rendererVersion', 'estimator', 'scope'],
  texts: NO_TEXTS,
  schema: configurationSchema,
  upcasters: { 1: upcastConfiguration, 2: configurationRenamed, 3: saysNoMore },
  namesFromOutside: namesInConfiguration,
  describe: configurationLine,
})
