/** The ways in which Spanish states a rule for the work of the other speaker. */
import { SPANISH_SIGNALS } from './spanish-signals.js'
import {
  IMPERATIVES,
  ORDER,
  DAYS,
  TIME,
  ONLY,
  NUMBER,
  APPROVAL,
  APPROVED,
  TONGUE,
  WIPE,
  STANDING,
  STORY,
  PAST,
  ONCE,
  NO_ORDER,
} from './spanish-words.js'
import { ACTS, COMMAND_OF, REPORTS } from './programs.js'
import { LATIN, anywhere, order, wordsOf, type Language } from './way.js'

export const SPANISH: Language = {
  letters: /[a-z]/u,
  alphabet: LATIN,
  frequent:
    wordsOf(`el la los las un una unos unas del de que y o en con para por sin se es al su sus tu tus cada todo todos todas
    nunca jamás siempre solo sólo solamente únicamente hay debe deben debes cuando si antes desde hasta entre como más norma regla usa
    asegúrate asegúrese evita evite prefiero quiero prohibido nada nadie ningún ninguna respuestas contesta responde pregúntame`),
  signals: SPANISH_SIGNALS,
  ways: [
    // English has "no worries" and "no uses": another word has to be Spanish.
    order(
      'prohibition: no hagas',
      String.raw`no (?!${NO_ORDER}(?!\p{L}))(?:(?:l[aeo]s?|me|se|te) ){0,2}\p{L}{2,}(?:as|es|áis|éis) (?=(?:\S+ ){0,5}?(?:el|la|los|las|en|un|una|del|de|al|a|con|para|por|que|sin|tu|tus|mi|mis|este|esta|estos|estas|ese|esa|nada|ningún|ninguna|nadie|nunca|más|antes|hasta)(?![\p{L}\p{N}]))\S+`,
    ),
    order(
      'prohibition: no haga',
      String.raw`no (?:(?:l[aeo]s?|me|se|te) ){0,2}(?:use|utilice|toque|modifique|borre|mande|envíe|ponga|haga|suba|guarde|escriba|publique|comparta|cambie|incluya|añada|llame|instale|ejecute|despliegue|salga|registre|elimine|edite|responda|conteste|abra|cierre|reinicie|deje|pague|apruebe|hagan|usen|toquen|se (?:usa|toca|sube|hace|manda|escribe|edita|borra|despliega)n?)`,
    ),
    order(
      'prohibition, obligation: nunca, siempre',
      String.raw`(?:nunca|jamás|siempre|bajo ningún concepto|en ningún caso|de ninguna manera|por nada del mundo) (?!(?:me|te|le|lo|la|los|nos|he|ha|había|fue|es|está|más|quise|pensé|un|una|tan|hacíamos|hagamos|hay|fui|imaginé)(?![\p{L}\p{N}]))(?:se )?\p{L}+(?<!é|ó|ei|ou|aba|ía|ava|ia|amos|ábamos|íamos)(?= )`,
      { not: PAST },
    ),
    order(
      'obligation: imperative, siempre',
      String.raw`\p{L}{3,}(?:a|e|é|á|n|ela|elo|elas|elos|lo|la|los|las|me|te|se)(?<!que|cuando|porque|aunque) (?:siempre|cada vez que|en todo momento|sin excepción|sistemáticamente)(?!\p{L})`,
      { not: STORY },
    ),
    anywhere(
      'obligation: hazlo siempre',
      String.raw`(?:${IMPERATIVES}) (?:siempre|todo|todas|cada)(?!\p{L})|(?:${IMPERATIVES})(?:l[aeo]s?)? (?:\S+ ){0,10}?(?:siempre|cada vez|siempre que|en cada|en tod[ao]s l[ao]s|por cada|con cada|a cada|en cualquier|todos los (?:días|lunes|viernes))`,
      { not: STORY },
    ),
    anywhere('prohibition: nada de command', `(?:nada de|ningún|ni un) (?:hacer )?(?:${COMMAND_OF}|${ACTS})`, {
      not: REPORTS,
    }),
    anywhere(
      'approval: solo tras preguntar',
      String.raw`s[oó]lo (?:tras|después de|previa|con) (?:preguntarme|consultarme|consulta|avisarme|mi (?:permiso|visto bueno|aprobación|ok))`,
    ),
    anywhere(
      'permission: pero no',
      String.raw`puedes [^?]{3,120}? pero (?:no|nunca|nada) (?:a|en|al|con|de|por|el|la|los|las)`,
    ),
    anywhere(
      'prohibition: se + nunca, no',
      String.raw`(?:nunca|jamás|no|nada|siempre|tampoco) se (?!(?:te|le|lo|me|sabe|puede (?:creer|saber)|preocupe|trata|ve|nota|siente|oye|pierde|acaba|olvida|por|si|qué)(?!\p{L}))\p{L}+(?:an?|en?)(?!\p{L})|no se (?:puede[n]?|debe[n]?) |se (?:prohíbe|exige|requiere|permite ${ONLY}|necesita)`,
      { not: STORY },
    ),
    anywhere(
      'prohibition: nunca sale de',
      String.raw`(?:nunca|jamás) (?:sale[n]?|va[n]?|entra[n]?|aparece[n]?|llega[n]?|pasa[n]?|toca[n]?|viaja[n]?|debe[n]?|puede[n]?|en|por|a|al) (?:\S+)`,
      {
        not: /(?<!\p{L})(?:yo|mi|mis|me|él|ella|fue|era|estaba|había|mi vida)(?!\p{L})|\p{L}{2,}(?:ábamos|íamos|aron|ieron|aba|aban|ía|ían)(?!\p{L})/u,
      },
    ),
    anywhere(
      'prohibition: no es asunto tuyo',
      String.raw`no se te ha perdido nada|no pintas nada|no es asunto tuyo|ni un[ao]? (?:sol[ao] )?más|(?:está[n]?|sigue[n]?) (?:solo )?en mantenimiento,|no se les? (?:añade|pone|toca|cambia|manda|envía|dice)[n]?|no te (?:acerques|metas|pases)|ni te acerques`,
    ),
    order(
      'prohibition: hands off',
      String.raw`(?:las )?manos fuera|fuera (?:las )?manos|ni (?:se te ocurra|tocar|toques|mirar|lo toques)|deja (?:en paz|quiet[ao]s?|como está[n]?|sin tocar)|deja (?:\S+ ){1,6}?(?:en paz|quiet[ao]s?|como está[n]?|tal cual|sin tocar|intact[ao]s?)|(?:aléjate|apártate|mantente (?:lejos|alejado|fuera)|quédate fuera) (?:de|del)|prohibido|prohibid[ao]s?|nada de (?!(?:esto|eso|particular|nada)(?!\p{L}))\p{L}+|cero \p{L}+ (?:en|de|a)`,
      { not: PAST },
    ),
    anywhere(
      'prohibition: is off limits',
      String.raw`(?:está[n]?|es|son|queda[n]?|sigue[n]?) (?:\S+ ){0,4}?(?:vedad[ao]s?|prohibid[ao]s?|fuera de (?:límites|alcance|tu alcance)|off limits|intocables?|vetad[ao]s?|no se tocan?|restringid[ao]s?|terreno vedado|zona prohibida|zona vedada|tabú|intocable|obligatori[ao]s?|innegociables?|no es negociable)|no (?:es|son) (?:cosa tuya|asunto tuyo|negociable|opcional)|(?:no es|es) de (?:obligado|estricto) cumplimiento|ni (?:leer|mirar|tocar|abrir)\S* ni \p{L}+|(?:no se|ni se) toca[n]?|no (?:te )?está permitido|no está[n]? permitid\p{L}+`,
      { not: PAST },
    ),
    order(
      'prohibition: no X in Y',
      String.raw`(?:y |pero )?(?:no|sin|ningún|ninguna|cero|nada de) (?!(?:problema|duda|embargo|hay|idea|es|está|tengo|tiene|sé|puedo|me|te|se|lo|la|que|si|ha|era|fue|veo|creo|más remedio|quiero|solo|sólo|por|sabía|quería|había|he)(?!\p{L}))(?:[^\s,;?]+ ){1,5}?(?:en|los|sin|antes|después|entre|fuera|durante|para|al|a)(?= )`,
      {
        not: /(?<!\p{L})(?:es|está|estaba|tengo|tiene|era|fue|hay|había|he|ha|puedo|puede|sé|me|hacen|funciona|aparece|encuentro|sirve)(?!\p{L})/u,
      },
    ),
    anywhere(
      'prohibition: nobody may',
      String.raw`nadie (?:\S+ ){0,3}?(?:edita|toca|modifica|sube|cambia|puede|debe|despliega|fusiona|borra|aprueba|accede|entra|publica|escribe|firma|usa|salvo|excepto|más que|que no sea)|nada (?:sale|entra|se (?:sube|publica|despliega|envía|manda|borra|toca|cambia|hace|ejecuta|paga|compra))`,
      { not: STORY },
    ),
    order(
      'obligation: make sure',
      String.raw`asegúrate|asegúrese|asegura que|evit[ae]r?|procura|procure|cuida (?:de )?que|encárgate de que|comprueba siempre|verifica (?:siempre|que)|cerciórate|vela por|fíjate (?:siempre )?(?:en )?que|ten cuidado de|acuérdate (?:siempre )?de|recuerda (?:siempre|incluir|que (?:no|nunca|siempre))|no (?:te )?olvides (?:de )?\p{L}+r|limítate a|cíñete|atente`,
      { not: ONCE },
    ),
    anywhere(
      'obligation: hay que',
      String.raw`hay que (?!ver|reconocer|decir|admitir)|(?:está|queda) prohibido|es (?:obligatorio|imprescindible|necesario|preciso|indispensable|fundamental|requisito)|tiene[ns]? que (?!ser (?:muy|tan)|ver|haber|estar (?:muy|tan))|(?:ha|han|has) de (?!sido)\p{L}+[aei]r`,
      { unless: /(?<!\p{L})(?:yo|él|ella|que ya|me)\s+$/u, not: /(?<!\p{L})(?:yo|ayer|tuve|mi|mis)(?!\p{L})/u },
    ),
    anywhere(
      'obligation: debe',
      String.raw`(?:debes|debe|deben|debéis|deberás|deberá|deberán)(?= \p{L}+[aei]r(?:se|l[aeo]s?)?(?![\p{L}])| (?:no|nunca|siempre|\p{L}+ \p{L}+[aei]r))(?! haber| estar (?:muy|tan)| ser (?:muy|tan)| ter )`,
      { unless: /(?<![\p{L}\p{N}])(?:yo|eu)\s+$/u, not: PAST },
    ),
    order(
      'obligation: todo X lleva',
      String.raw`(?:tod[ao]s?(?: l[ao]s?)?|cada|cualquier) (?!(?:el|mundo|día|vez|lo|eso|esto|tiempo|momento)(?!\p{L}))(?:[^\s,;]+ ){1,9}?(?:lleva[n]?|necesita[n]?|requiere[n]?|debe[n]?|tiene[n]? que|incluye[n]?|va[n]? (?:con|en|a|por|acompañad\p{L}+|firmad\p{L}+)|pasa[n]? (?:\p{L}+ )?(?:por|a)|explica[n]?|indica[n]?|cita[n]?|enlaza[n]?|se \p{L}+n?|empieza[n]?|termina[n]?|acaba[n]?)(?!\p{L})`,
      { not: STORY },
    ),
    order(
      'obligation: whoever',
      String.raw`(?:quien|el que|la que|cualquiera que) [^?]{4,90}?,? (?:actualiza|arregla|escribe|añade|avisa|debe|tiene que|documenta|paga|limpia|lo|la|también|revierte|deja)(?!\p{L})`,
      { not: STORY },
    ),

    anywhere(
      'cap: is capped',
      String.raw`(?:tiene[n]?|con|hay|pon(?:le)?|fija) un (?:tope|límite|máximo|techo)|(?:está[n]?|queda[n]?|es|son|va[n]?) (?:\p{L}+ )?(?:limitad|topad|capad|restringid|acotad|fijad)[ao]s? (?:a|en|al)|se (?:limita|restringe|topa|reduce|ciñe|circunscribe|acota)[n]? (?:a|al|en)|(?:limita|restringe|reduce|acota)(?: \S+){1,6}? (?:a|en) ${NUMBER}`,
      { not: PAST },
    ),
    anywhere(
      'cap: the cap is',
      String.raw`(?:límite|tope|máximo|techo|presupuesto|mínimo|cupo|cuota|umbral)(?: (?:para|de|por|en|del)(?: [^\s,.;]+){1,5}?)? (?:es|son|está|queda|se fija|se sitúa|asciende)(?: (?:del?|en|a|al))? (?:los |unos )?${NUMBER}|(?:tope|límite|máximo|techo|presupuesto)[:=] ?${NUMBER}|${NUMBER}(?: \S+){0,4} (?:como (?:mucho|máximo|tope)|a lo sumo|máximo|de máximo|de tope)|(?:como (?:mucho|máximo|mínimo)|a lo sumo|máximo|al menos|un máximo de|hasta un máximo de) ${NUMBER}|es (?:el|lo) (?:máximo|tope|límite)`,
      { not: /(?<!\p{L})(?:yo|me|mi|fue|era|había|gratis|gratuit[ao]|básico|función)(?!\p{L})/u },
    ),
    anywhere(
      'cap: no more than',
      String.raw`(?:no|nunca|jamás|ni) (?:[^\s,;]+ ){0,4}?(?:más|menos) de (?:un |una |los |las )?${NUMBER}|no (?:te )?(?:pases|pase|pasar|superes|supere[n]?|superar|excedas|exceda[n]?|exceder|rebases|rebase[n]?|sobrepases|sobrepase[n]?|gastes)(?:se)?(?: más)?(?: de| los| las| el| la| nunca)? |(?:no|sin|nunca) (?:debe|puede|deben|pueden)?[^,.;]{0,20}?(?:superar|exceder|sobrepasar|rebasar|pasar de)`,
      { not: /(?<!\p{L})(?:yo|me|fue|había|tenía|cuenta gratuita|gratuita|básico|he|hemos)(?!\p{L})/u },
    ),
    anywhere(
      'cap: stay under',
      String.raw`(?:mantente|mantén|manténgase|mantenga|quédate|quede|deja|permanece|que (?:no )?(?:quede|baje|suba|pase))(?:l[aeo]s?)?(?: \S+){0,10}? (?:por debajo|debajo|dentro|bajo|en menos|por encima)|por debajo de (?:los |las )?${NUMBER}|menos de ${NUMBER}(?: \S+){1,4} (?:por|al|a la|cada)`,
      { not: PAST },
    ),

    anywhere(
      'approval: needs approval',
      String.raw`(?:requiere[n]?|necesita[ns]?|exige[n]?|precisa[n]?|hace[n]? falta|hará falta|pide[n]?|pide|sin|con|previa|previo|sujet[ao]s? a|pendientes? de|requerirá[n]?|necesito|espera|solicita|obtén|consigue|tras)(?: [^\s,;]+){0,8}? (?:previ[ao] )?${APPROVAL}|${APPROVAL}(?: \S+){0,5}? (?:es|son) (?:obligatori[ao]s?|necesari[ao]s?|imprescindibles?)|sin (?:consultarme|consultar|preguntarme|preguntar|avisarme|avisar|mi|previa|permiso|autorización)(?!\p{L})`,
      { not: /(?<!\p{L})(?:pedí|ayer|fue|dio|me la|tuve|me pidió|había|era|hizo|el lunes y)(?!\p{L})/u },
    ),
    anywhere(
      'approval: I see every X first',
      String.raw`l[oa]s? (?:tengo|debo|quiero) (?:que )?(?:confirmar|aprobar|ver|revisar|firmar) (?:yo|antes|primero)|(?:tengo que|debo|quiero) (?:confirmar|aprobar|ver|revisar|firmar) (?:yo )?(?:cada|tod)\p{L}*|\p{L}*(?:á|é|í|ó)\p{L}*l[oae]s? (?:\S+ ){0,6}?(?:antes|primero)(?!\p{L})|(?:enséñame|muéstrame|déjame ver|pásame) (?:antes|primero|siempre) `,
      { not: ONCE },
    ),
    anywhere(
      'approval: only after approval',
      String.raw`(?:${ONLY}|no|nada|hasta|nunca)(?: \S+){0,10}? (?:cuando|después de|tras|hasta que|hasta|si|una vez|con|sin que|que)(?: \S+){0,9}? ${APPROVED}(?!\p{L})`,
      { not: PAST },
    ),
    anywhere(
      'approval: ask before',
      String.raw`(?:pregúnt|pregunt|consúlt|consult|avís|avis|pídeme|pide|habla|dime|díme|espera|solicita|confírm|confirm|enséñ|enseñ|muéstr|muestr|compruéb|comenta|coméntame|verifica)\p{L}*(?: \S+){0,10}? (?:antes|primero|previamente|de antemano)(?!\p{L})|antes de (?:que )?[^?]{3,100}?, (?:siempre |por favor |primero )*(?:${ORDER})(?!\p{L})|primero (?:pregúnt|consúlt|pregunt|consult)\p{L}+`,
      { not: ONCE },
    ),

    anywhere(
      'window: only between',
      String.raw`${ONLY}(?: \S+){0,6}? (?:entre|de|desde|a partir de|después de|antes de|en|durante|fuera de|por|los|el|hasta) ${TIME}|(?:los |de |en |por )?${DAYS}(?: y \p{L}+)? (?:${ONLY})|fuera de(?:l)? horario`,
      { not: PAST },
    ),
    anywhere(
      'window: none before, on a day',
      String.raw`(?:los|el|en|por|durante|entre|antes de|después de|a partir de|desde|de)(?: (?:las|los|el|la))? ${TIME}(?: \S+){0,7}? (?:no|nada|nunca|nadie|ni|ningún|ninguna|prohibid[ao])(?!\p{L})|(?:no|nada|nunca|nadie|ni|ningún|ninguna)(?: \S+){1,9}? (?:(?:los|en|durante|entre|antes de|antes del|después de|después del|a partir de|desde|fuera de|hasta)(?: (?:las|los|el|la))? ${TIME})`,
      {
        not: /(?<!\p{L})(?:yo|me|fue|era|estaba|había|hay nadie|ayer|tuve|tengo|salía|he|ha|mi)(?!\p{L})|\p{L}{2,}(?:ábamos|íamos|aron|ieron|aba|aban)(?!\p{L})/u,
      },
    ),

    anywhere(
      'route: only through, to, in',
      String.raw`${ONLY} (?:\p{L}+ )?(?:a través de|por|vía|mediante|con|a|al|en|desde|dentro de|por medio de)(?!\p{L})(?! (?:eso|ejemplo|favor|curiosidad|si acaso|veces))|(?:${ORDER}) (?:[^\s,;]+ ){0,8}?${ONLY}|(?:van|va|viven?|se guardan?|se quedan?|están?|se almacenan?|residen?|se envían?|se mandan?|se hacen?|pasan?|se tramitan?|se paga[n]?|se compra[n]?|salen?|entran?|se pide[n]?)(?: [^\s;]+){1,12}? (?:y )?(?:en|a|por) (?:ningún|ninguna|nadie) (?:otr[ao]|más|sitio|lugar|lado|parte)|siempre (?:a través de|por|vía|mediante) |(?:es|son) ${ONLY} para (?!mí|ti|ver|saber|que)|(?:y )?(?:a nadie más|en ningún otro|ningún otro (?:sitio|canal|lugar|medio)|por ningún otro|nada más)|(?:pasa[n]?|va[n]?) siempre por`,
      { not: PAST },
    ),
    anywhere(
      'route: copy on every',
      String.raw`en (?:copia|cc|bcc|copia oculta)|(?:pon|copia|incluye|mete|añade|agrega)(?:l[aeo])?(?: \S+){1,8}? (?:en|a) (?:todos?|todas|cada|copia|cc)`,
      { not: PAST },
    ),
    anywhere(
      'place: belongs in',
      String.raw`(?:viven?|van|va|se guardan?|se quedan?|se almacenan?|residen?|se escriben?|pertenecen?)(?: [^\s,;]+){0,4}? ${ONLY}|no (?:pintan?|tienen?|van|caben?|entran|salen|aparecen?|deben? aparecer|se quedan?)(?: nada)?(?: que hacer)? (?:en|de|del|fuera)(?= )|(?:va|van) (?:siempre )?(?:en|a|dentro de) (?:el |la |los )?\S*(?:/|\.\p{L}|carpeta|directorio|vault|bóveda|gestor|repositorio)\S*`,
      { not: STORY },
    ),
    anywhere(
      'contrast: X, no Y',
      String.raw`(?:se \p{L}+n?|va[n]?|es|son|está[n]?|usamos|escribimos|trabajamos|tuteamos|llamamos|guardamos|${IMPERATIVES})(?: [^\s,;]+){1,12}?,? (?:y )?(?:no|nunca|jamás) (?:en|con|de|por|a|al|el|la|los|las|un|una|como|desde|para|del)(?! (?:si|que|todo|verdad))(?!\p{L})|(?:tono|estilo|formato|idioma|moneda|trato|unidad) es [^,.;]{2,40}, no \p{L}+|(?:llamamos|usamos|decimos|escribimos|hablamos|guardamos|tuteamos|trabajamos|facturamos) [^,.;]{2,50}, (?:y )?no \p{L}+|no (?:[^\s,;]+ ){1,10}?,? sino (?!que)`,
      {
        not: /(?<!\p{L})(?:yo|fue|era|estaba|creo|hoy|me (?:gusta|parece)|es que|pero no|ya no|había|he|ha|hemos|no solo|sé|verdad|estamos)(?!\p{L})|\p{L}{2,}(?:ábamos|íamos|aron|ieron|aba|aban)(?!\p{L})/u,
      },
    ),
    order(
      'contrast: X en vez de Y',
      String.raw`(?:${ORDER})(?: \S+){1,14}? (?:en vez de|en lugar de|antes que|mejor que)(?!\p{L})`,
      { not: ONCE },
    ),

    anywhere(
      'data: scrub before',
      String.raw`${WIPE}\p{L}*(?: \S+){0,14}? (?:antes de|siempre|donde|cuando|en todos?|en todas|de todos?|de todas|en cada|solo los últimos|los últimos|en cualquier|salvo|excepto|menos)(?!\p{L})|(?:antes de|siempre|en todos los|en los|cuando|donde|de los|se|deben|debe|van|va|ir)(?: \S+){0,14}? ${WIPE}\p{L}+(?: (?!el archivo|la rama)\S+){1,8}|(?:solo|únicamente|deja|dejando|muestra|excepto|salvo|menos)(?: \S+){0,3}? (?:las? |los )?(?:últim|cuatro últim|tres últim)\p{L}+ (?:\S+ )?(?:dígitos|cifras|números)`,
      {
        not: /(?<!\p{L})(?:ahora (?!en)|hoy|fue|era|había|ayer|yo|borraron|se borró|te pasé)(?!\p{L})|\p{L}{2,}(?:ábamos|íamos|aron|ieron|aba|aban)(?!\p{L})/u,
      },
    ),

    anywhere(
      'style: I prefer',
      String.raw`me gustan? más (?:l[oa]s |un[ao]s? )?(?:resúmenes|respuestas?|commits|informes|listas?|tablas?|correos|textos|funciones|mensajes|frases|explicaciones|cambios)|(?:trata|trátal[oa]s?|tutea|habla)(?: \S+){0,4}? de (?:usted|tú)|(?:prefiero|preferiría|me gustan? más)(?: que| las?| los?| un| una| \p{L}+)(?: \S+){0,16}? ?(?:en vez de|en lugar de|antes que|y no|a que|me |que |no |sobre|cort[ao]s?|breves?|pequeñ[ao]s?|simples?|claros?)|(?:no )?quiero que|no quiero (?:volver a )?(?:ver|que|ningún|ninguna|más de|recibir)|prefiero (?:l[ao]s|un[ao]?s?) (?:\S+ ){0,4}?(?:a|en|al|con)(?!\p{L})`,
      { not: ONCE },
    ),
    anywhere(
      'style: answer in a language',
      String.raw`(?:contést|contest|respónd|respond|escrib|escríb|habl|hábl|redact|coment|explíc|explic|trát|mantén|comunic|dirígete|dirija)\p{L}*(?: (?!este|esta|esto|lo siguiente)\S+){0,9}? en (?:el |perfecto )?${TONGUE}|(?:comentarios|respuestas?|mensajes|commits?|textos|correos|documentación|informes|nombres|variables|todo|código)(?: \S+){0,8}? en ${TONGUE}`,
      { not: ONCE },
    ),
    anywhere(
      'style: keep it short',
      String.raw`(?:respuestas?|mensajes?|correos|resúmenes|frases|commits) (?:cort[ao]s?|breves?|concis[ao]s?)|(?:sé|sea|mantén\p{L}*|mantenga|haz|responde|contesta|escribe|contéstame|respóndeme|ve|resume)(?: \S+){0,6}? (?:cort[ao]s?|breves?|concis[ao]s?|escuet[ao]s?|al grano|sencill[ao]s?|formal(?:es)?|simple|educad[ao]|en (?:dos|tres|pocas|una|cuatro|cinco|menos|frases|líneas)|con (?:dos|tres|pocas|una|frases)|brevemente|directo|de usted|de tú)|sin (?:rodeos|emojis|emoticonos|preámbulos|paja|florituras|adornos)|(?:dos|tres|cuatro|cinco|pocas) (?:líneas|frases|párrafos)(?: \S+)? (?:me )?(?:basta[n]?|sobra[n]?|es suficiente|son suficientes|como mucho|máximo)|con (?:\S+ ){1,5}?me (?:basta|sobra|vale)|(?:trátame|tutéame|háblame|trata a) (?:\S+ )?(?:de|por)`,
      { not: ONCE },
    ),

    order(
      'condition: when X, do Y',
      String.raw`(?:cuando|si|siempre que|cada vez que|en cuanto|en caso de(?: que)?|apenas|una vez que|tan pronto como|ante|al)(?! (?:quieres|necesitas|tienes (?:alguna|dudas|tiempo)|te apetece|puedes|me|mi|yo|estaba|era)(?!\p{L})) [^?¿]{3,170}?, (?:entonces |por favor |siempre |simplemente |primero )*(?:${ORDER}|no \p{L}{2,}(?:as|es))(?!\p{L})`,
      { not: /(?<!\p{L})(?:me dices si|no dudes|no te preocupes|fue|era|estaba|había|ayer)(?!\p{L})/u },
    ),
    order(
      'condition: stop if',
      String.raw`(?:para|detente|detén|aborta|cancela|avísame|avisa|escala|revierte|interrumpe|pausa|frena|llámame|notifica)\p{L}*(?: \S+){0,6}? (?:si|cuando|en cuanto|siempre que|apenas)(?!\p{L})`,
      { not: ONCE },
    ),

    order(
      'exclusivity: only X may',
      String.raw`${ONLY} (?:[^\s,;]+ ){1,7}?(?:puede[n]?|debe[n]?|aprueba[n]?|autoriza[n]?|firma[n]?|decide[n]?|está[n]? autorizad\p{L}+|tiene[n]? (?:permiso|acceso|potestad|derecho)|despliega|fusiona|edita|toca|modifica)(?!\p{L})|(?:nadie|ninguno) (?:más que|salvo|excepto|aparte de|que no sea)|(?:salvo|excepto|aparte de|fuera de) [^,]{2,40}, nadie`,
      { not: PAST },
    ),
    anywhere(
      'exclusivity: the only one',
      String.raw`(?:la|el|lo|las|los) únic[ao]s?(?: \S+){0,9}? (?:puedes?|pueden|debes?|deben|autorizad[ao]s?|permitid[ao]s?|que (?:aprueba|decide|firma|autoriza))(?!\p{L})|${ONLY} (?:puedes|podrás|debes|tienes (?:permiso|acceso|permitido))|puedes (?:\S+ ){0,4}?${ONLY}|(?:decide|aprueba|firma|autoriza)[n]? (?:\S+ ){0,4}?(?:y nadie más|${ONLY})|(?:está|queda)[n]? reservad[ao]s?|es (?:cosa|competencia|decisión) (?:exclusiva |solo )?de`,
      { not: PAST },
    ),

    anywhere(
      'freeze: is frozen',
      String.raw`(?:está[n]?|queda[n]?|sigue[n]?|permanece[n]?|es|son) (?:[^\s,;]+ ){0,5}?(?:congelad[ao]s?|bloquead[ao]s? (?:para|hasta)|en (?:modo )?(?:solo|sólo) lectura|de (?:solo|sólo) lectura|cerrad[ao]s? a (?:cambios|nuevos)|inmutables?|en (?:code )?freeze)|congelamiento|congelación (?:de|hasta|del)|(?:trata|considera|trátal|considéral|tómal|da)\p{L}*(?: \S+){0,12}? (?:como )?(?:si fuera )?(?:de |en )?(?:(?:solo|sólo) lectura|congelad[ao]s?|intocables?|inmutables?|confidencial(?:es)?|read-only)|se (?:mira|lee) pero no se|(?:mirar|leer) sí, (?:tocar|escribir) no|(?:solo|sólo) (?:lectura|se lee|leer)`,
      { not: /(?<!\p{L})(?:fue|era|pantalla|error|ordenador|lago|no me deja|había)(?!\p{L})/u },
    ),

    order(
      'default: from now on',
      String.raw`(?:a partir de (?:ahora|hoy|mañana|este momento|aquí|la próxima|el \p{L}+)|desde (?:ahora|hoy|ya)|de (?:ahora|hoy|aquí) en (?:adelante|más)|en (?:adelante|lo sucesivo|el futuro)|por (?:defecto|norma|regla general)|salvo (?:que|indicación|aviso|instrucción)[^,]{0,50},?|a menos que (?:te )?(?:diga|indique|avise)[^,]{0,40},?|si no (?:te )?(?:digo|indico|aviso)[^,]{0,40},?|hasta nuev[ao] (?:aviso|orden)|en caso de duda|ante la duda|en general|como norma|para todo el proyecto|en todo el proyecto|con carácter general),? (?!(?:yo|voy|quiero|me|vamos|estaré|haré|seré|mi)(?!\p{L}))[\p{L}«“]+`,
      { not: /(?<!\p{L})(?:fue|era|había|yo|voy a|quiero ser|devuelve)(?!\p{L})/u },
    ),
    anywhere(
      'default: inside',
      String.raw`(?:a partir de ahora|de ahora en adelante|de aquí en adelante|hasta nuevo aviso|salvo que (?:te )?(?:diga|indique|avise)|por defecto (?:usa|pon|escribe|manda|en|con)|si no (?:te )?digo lo contrario)`,
      { not: /(?<!\p{L})(?:fue|era|había|yo|voy a|voy|quiero ser|devuelve|haré|seré)(?!\p{L})/u },
    ),

    anywhere(
      'polite: could you always',
      String.raw`(?:podrías|puedes|podría|puede|querrías|te importaría|sería posible|serías tan amable de|me harías el favor de) (?:\S+ ){0,22}?${STANDING}(?!\p{L})`,
      { politeQuestion: true, not: /(?<!\p{L})(?:hoy|por qué|ahora mismo|puede ser que)(?!\p{L})/u },
    ),
    anywhere(
      'polite: I would like you to',
      String.raw`(?:me gustaría|quisiera|te agradecería|agradecería|le agradecería|(?:estaría|sería|vendría|iría) (?:muy |más )?(?:bien|bueno|genial|ideal|mejor|estupendo|perfecto|útil|de ayuda)|te pido|te ruego|le pido|te pediría|necesito|espero|me ayudaría|por favor|haz el favor de|procura|intenta)(?: mucho)?,?(?: que| si)?,? (?:\S+ ){0,16}?${STANDING}(?!\p{L})`,
      {
        politeQuestion: true,
        not: /(?<!\p{L})(?:hoy|ahora mismo|todo está|todo el mundo|todo esto|todo bien|gustaría (?:ir|ser|tener|saber)|esta vez|siempre (?:he|me|quise))(?!\p{L})/u,
      },
    ),
  ],
}
