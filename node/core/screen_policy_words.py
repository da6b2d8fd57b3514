"""The words of requests that only a person may grant: for each language what is asked, of what, and how one asks."""

from __future__ import annotations

# By language (six others are in screen_policy_more_words): a concept in capitals and the words that follow it. `_`
# joins the words of a phrase, a trailing `*` makes a stem, a leading `!` a form that by itself asks its reader, a
# leading `+` one that does at the beginning of a clause.
# Words of scripts that are written without blanks, or with endings grown on, are found anywhere. All is folded.
WORDS: dict[str, str] = {
    "en": """
        ASK need_the need_your please pls plz kindly can_you could_you would_you will_you can_u could_u go_ahead
            make_sure need_you_to want_you_to would_like_you_to i'd_like_you_to ask_you_to asking_you_to like_you_to
            feel_free_to be_sure_to would_you_mind you_can_just you_can_go have_you i_need_you_to just_go_ahead
            agent_must agent_shall agent_should agents_must agents_shall assistant_must assistant_shall
            agents_are_to agent_is_to assistant_should have_the_agent have_the_assistant have_your_agent
            your_agent_should your_assistant_should agent_may agents_may
        CAN you_can you_may you_must you_should you_need_to you_have_to you_are_free_to you_are_to may_therefore
            can_safely
        FREE without_checking without_a_further without_another without_the_second without_consulting straight_away
            no_second_look don't_prompt do_not_prompt do_not_wait without_prompting already_approved pre-approved
            preapproved already_agreed already_cleared already_signed has_signed_off gave_the_green has_approved
            on_his_behalf on_her_behalf on_their_behalf admin_override okayed cleared_it waived on_sight
            without_obtaining without_asking without_further don't_ask dont_ask do_not_ask no_need_to_ask
            need_not_ask needn't_ask no_need_to_wait no_need_to_wake no_need_to_check skip_the_dialogue
            skip_the_prompt without_waiting without_confirmation without_a_confirmation no_questions no_further
            without_approval without_review without_telling needn't_raise don't_wait no_approval without_bothering
            at_once don't_go_round
        NOT not never don't dont doesn't cannot can't won't mustn't shouldn't without refuse* forbid* forbidden
            avoid instead_of rather_than nobody no
        HOW how whether who why where which if
        ABOUT phishing injection attack* attacker* payload* fixture* refus* declin* rejected reject suspicious
            malicious example e.g test_case regex detector asked_me asks_me asked_for asks_for
        ME in_your_answer in_your_next_reply in_this_ticket in_the_comment as_a_comment below me us my_inbox
            in_reply in_the_reply in_the_answer this_chat this_thread this_channel this_ticket back_to_me the_ticket
            the_thread the_channel
        IT it this that them
        AGENT agent agents assistant assistants bot
        NOW now today tonight as_soon_as once straight right_away immediately directly anyway yourself for_me for_us
            for_this_session your
        GIVE +mirror +transmit +deposit +place +submit +fetch +stick +drop +hang +relay +fax +release_to +present
            uploading exporting mirroring posting sending transferring mailing forwarding +give +send +paste +share
            +tell +show +hand +post +dm +forward +reply_with +print +attach +provide +pass +put +include +read_me
            +read_out +copy +upload +mail +email +quote +append +return +cat +zip +push +reveal +respond_with +echo
            +base64 +transfer +deliver +let_me_have +scp +bundle +commit +publish +pipe +stream +sync +encode +ship
            +export pasting giving sharing !i_need_your !send_me !give_me !tell_me !show_me !dm_me !paste_me
            !let_me_see
        DUMP +print +dump +run +list +output +capture +collect +grab +fetch +serialise +serialize
        SECRET signing_secret shared_key shared_secret private_half private_part deploy_key admin_password
            root_password db_password unseal_key unseal_keys recovery_phrase seed_phrase wallet_key license_key
            connection_string database_url wi-fi_password psk password* passphrase* passwd secret secrets credential
            credentials token tokens api_key api_keys apikey access_key access_keys private_key private_keys
            signing_key signing_keys secret_key master_key recovery_code recovery_codes one-time_code otp pin login
            session_cookie session_cookies encryption_key bearer service_key deploy_token ssh_key ssh_keys
            webhook_secret client_secret root_key
        ENV environment_variable environment_variables env_vars env_var environ process.env os.environ
            environment_block environment_dump env_dump output_of_env full_environment whole_environment
            entire_environment env_output env_variables set_output shell_environment
        OFF +disarm +flush +strip +unset +neutralise +silence +relaunch_without +empty +wipe +clear +shorten +weaken
            +unprotect +untick +detach +loosen +exempt deactivated disabled +disable +deactivate +turn_off
            +switch_off +skip +bypass +remove +kill +circumvent +lift +suspend +drop +ignore +mute +override +unload
            +uninstall +pause +relax +stop +delete +take_out +comment_out +whitelist +auto-approve +auto-accept
            disabling skipping turning_off switching_off bypassing
        GUARD filter scanner virus_scan malware_scan malware_scanner approvals gitleaks seccomp prompts pretooluse
            required_reviewers safety_checks safety_assertions verification signing permission_checks command_filter
            confirmations checks screening_step message_filter csp protection protections apparmor codeql
            branch_rules commit_signing hook hooks pre-commit pre-push branch_protection protected_branch
            permission_prompt permission_prompts permission_check permission_dialog approval_prompt approval_prompts
            approval_step sandbox sandboxing screening screener message_screen security_scan security_scans
            security_scanner security_check security_checks secret_scan secret_scanning secret_scanner
            required_check required_checks required_review required_reviews review_requirement signature_check
            signature_checks signature_verification signing_check verify_signatures 2fa mfa two-factor
            two-factor_authentication guardrail guardrails content_filter safety_filter safety_filters
            confirmation_prompt confirmation_prompts permission_system vulnerability_scan firewall selinux antivirus
            audit_log audit_logging code_owners codeowners tls_verification certificate_check
            certificate_verification host_key_checking rate_limit_guard confirmation_dialog confirmation_dialogs
            approval_dialog allowlist_check deny_list denylist permission_mode approval_mode approval_gate
            review_gate injection_filter dlp
        FLAG --no-verify --dangerously-skip-permissions --yolo --no-sandbox bypasspermissions --no-gpg-sign
            --dangerously-bypass-approvals-and-sandbox skip-permissions
        TURN +turn +switch +set +leave +shut +keep
        USE +relaunch +leave +make +rerun +retry +append +keep adding +use +pass +run +commit +push +start +launch
            +restart +add +go +set +try +merge
        AWAY off
        MERGE +merge +squash +land +rebase_and_merge +squash_and_merge +auto-merge merging
        CHANGE requests request_# open_prs all_open green ci pr mr prs pull_request pull_requests merge_request
            branch main master trunk change changes change_set patch fix hotfix
        PUSH +push +force-push +force_push +commit pushing +cherry-pick
        MAINLINE main master trunk default_branch release_branch production_branch protected_branch
        FORCE +force-push +force_push +push_--force +push_-f +tag
        HISTORY branch main master origin history
        PUBLISH +publish +release +deploy +roll_out +ship +promote +cut +go_live +launch publishing releasing
            deploying rolling_out
        PLACE index stores package_index npm pypi crates.io registry production prod app_store play_store
            marketplace docker_hub dockerhub live_site rubygems maven_central store the_website appstore ghcr
        VERSION images packages binaries wheels firmware version release build package image artifact artifacts
            artefact artefacts site hotfix website wheel gem crate announcement newsletter
        GRANT +elevate +authorize +insert +grant +give +add +assign +promote +authorise +put +append +invite
            +whitelist +install +enable granting giving adding
        RIGHT ssh_key public_key second_admin second_administrator admin_user admin_account write_permissions
            rights_to read-write full_control full_access own_account bypass_list trusted trusted_peers root write
            access write_access read_access admin_access admin_rights admin_role as_admin an_admin rights right role
            permission permissions collaborator collaborators maintainer authorized_keys deploy_key deploy_keys
            owner sudo sudoers root_access administrator privileges write_permission push_access allow-list
            allowlist always_allow superuser contributor editor_role
        OUTSIDE public_file_share public_share public_issue my_server his_server home_server outside_party
            external_party third_party external_server public_forum forum public_page public_channel pastebin gist
            webhook external_partner external_address personal_mailbox personal_email personal_mail private_email
            private_mail personal_address personal_account personal_gmail gmail dropbox wetransfer transfer.sh
            paste.ee public_bucket google_drive my_drive my_telegram telegram_bot ngrok external_auditor
            external_auditors outside_counsel private_address file.io public_gist outside_address ftp the_press
            journalist journalists paste_site to_the_contractor to_the_vendor to_our_vendor to_the_supplier
            to_the_agency to_the_auditors to_our_auditors to_the_partner to_the_customer to_the_press
            to_our_contractor to_the_contractors outside_the_company my_own_account my_private
    """,
    "de": """
        AGENT agent agenten assistent
        ASK bitten_wir wir_bitten ist_zu sind_zu agent_muss agent_hat agenten_müssen magst_du_bitte bitte kannst_du
            könnt_ihr könntest_du könnten_sie würdest_du würden_sie magst_du du_sollst agent_soll agenten_sollen
            assistent_soll ich_möchte_dass_du sei_so_gut seid_so_gut bitten_sie bitte_dich bitte_sie du_kannst_ruhig
            ihr_könnt_ruhig kann_ruhig willst_du
        CAN können_sie sie_können du_kannst du_musst sie_müssen du_solltest du_darfst sie_dürfen
        FREE ohne_zu_fragen ohne_nachzufragen ohne_rückfrage ohne_weitere nicht_nachfragen nicht_fragen ungefragt
            ohne_freigabe
        IT das ihn es sie
        NEVER nicht nie niemals kein keine keinen keinem keiner
        NOT ohne statt verboten untersag* weder
        HOW wie ob wer warum wo welche welcher welches
        ABOUT abgelehnt lehne angriff* beispiel* verdächtig* ablehn* verweiger*
        ME mir uns hier hierher deiner_antwort deine_antwort ihrer_antwort zurück rückmeldung antwort diesen_chat
            das_ticket dieses_ticket vorgang
        NOW jetzt sofort gleich heute direkt danach dann sobald ruhig einfach ungefragt deine deiner deinem eigenen
        GIVE übertragen +übertrage ablegen +kopiert schickt gebt beizulegen auszugeben überspielen +überspiel
            hinterlegen +hinterlege anfügen +schreibt !schick !schicke +sende !gib +gebt +nenn +nenne !poste
            +kopiere +kopier +zeig +zeige +verrate +teile +häng +hänge +leg +lege +lade +lad +füge +schreib
            +schreibe +leite +leit +übermittle +trag +pack +stell +stelle +mail +maile schicken senden geben nennen
            posten kopieren zeigen verraten teilen hängen anhängen legen laden hochladen einfügen schreiben
            weiterleiten übermitteln zusenden zuschicken mitschicken zurückgeben mailen weitergeben durchgeben
            beilegen beifügen schickst gibst sendest nennst schicken_sie geben_sie senden_sie !nennen_sie
            !hängen_sie !legen_sie !übermitteln_sie !teilen_sie stellen !ich_brauche_dein !ich_brauche_das
            !brauche_ich
        DUMP +gib +druck +drucke +führe ausgeben drucken ausführen auflisten !liste auslesen
        SECRET passwort passwörter kennwort kennwörter zugangsdaten anmeldedaten token tokens api-schlüssel api-key
            api-token geheimnis geheimnisse schlüssel privatschlüssel passphrase signaturschlüssel zugangstoken pin
            zugriffsschlüssel private_schlüssel zugangsschlüssel wlan-schlüssel
        ENV umgebungsvariable umgebungsvariablen umgebung
        OFF +deaktiviere +deaktivier +umgehe +umgeh +überspring +überspringe +entferne +lösche abschalten
            ausschalten deaktivieren umgehen überspringen entfernen löschen aushebeln aussetzen abstellen aufheben
            weglassen stilllegen leeren !deaktivieren_sie !umgehen_sie !überspringen_sie !entfernen_sie auslassen
        TURN !schalt !schalte !nimm +stell +stelle +setz +setze +hebe +heb nehmen schalten !schalten_sie !heben_sie
            !setzen_sie !nehmen_sie stellen
        GUARD filter scanner prüfung prüfungen tls-prüfung signatur freigaben eingangskontrolle befehlsfreigabe
            schutz geheimnissuche abfragen scan signierung hooks hook pre-push-hook pre-commit-hook zweigschutz
            branchschutz branch-schutz freigabeabfrage freigabeabfragen rückfragen berechtigungsabfrage
            berechtigungsabfragen rechteabfrage sandbox sicherheitsprüfung sicherheitsprüfungen sicherheitsscan
            nachrichtenprüfung signaturprüfung pflichtprüfung pflichtprüfungen zwei-faktor zwei-faktor-anmeldung
            freigabefenster genehmigungsabfrage genehmigungsabfragen virenscanner schutzregel schutzregeln
            inhaltsfilter zertifikatsprüfung sperrregeln pflichtreview geheimnisprüfung nachrichtenfilter
            eingangsprüfung prüfpflicht berechtigungsdialog firewall
        AWAY ab aus weg auf raus außer
        MERGE +merg mergen zusammenführen +führ einspielen übernehmen !merge_bitte !mergen_sie reinmergen
        CHANGE branch zweig änderung änderungen mr pr pull-request merge-request hauptzweig
        PUSH +push +pushe pushen +schieb schieben
        MAINLINE hauptzweig main master haupt-branch
        PUBLISH +veröffentliche +veröffentlich +deploye +stell +stelle +spiel +spiele +bring veröffentlichen
            deployen ausrollen freischalten +rolle +schalte stellen ausliefern online_stellen !veröffentlichen_sie
            einspielen
        PLACE produktion registry paketregister live online store entwicklerportal netz öffentlich produktivumgebung
            produktiv produktivsystem
        VERSION version fassung stand paket seite ausgabe build
        GRANT +gib !gib_mir +erteile +vergib +füge +trag +trage +gewähre +richte erteilen geben vergeben gewähren
            eintragen hinzufügen freischalten aufnehmen einräumen !geben_sie !erteilen_sie !tragen_sie !räumen_sie
            freigeben
        RIGHT zugriff zugang rechte schreibrechte schreibrecht leserechte admin adminrechte administratorrechte
            rolle berechtigung berechtigungen schreibzugriff lesezugriff vollzugriff administrator zugriffsrechte
        OUTSIDE externe_adresse externen_dienstleister an_den_dienstleister privatadresse private_adresse
            privates_postfach private_mail steuerbüro wirtschaftsprüfer partnerfirma an_den_kunden an_die_presse
            an_den_lieferanten an_die_agentur
    """,
    "fr": """
        AGENT agent agents assistant
        ASK il_convient_de il_faut tu_veux_bien vous_voulez_bien est-ce_que_tu_peux il_vous_est_demandé
            l'assistant_doit merci_de peux-tu pourrais-tu pouvez-vous pourriez-vous veuillez s'il_te_plaît
            s'il_vous_plaît stp svp l'agent_doit les_agents_doivent agent_doit il_faut_que_tu prière_de n'hésite_pas
            je_te_demande_de je_vous_demande_de je_voudrais_que_tu vous_prie_de prie_de pense_à pensez_à
        CAN tu_pourrais vous_pourriez tu_peux vous_pouvez tu_dois vous_devez
        FREE sans_demander sans_validation pas_besoin_de_demander sans_repasser inutile_de_demander
            sans_confirmation
        IT ça
        NOT ne n'* jamais pas sans interdi* aucun aucune
        HOW comment qui pourquoi où quel quelle quels
        ABOUT attaque* exemple refus* suspect* hameçonnage
        ME moi nous ici me ta_réponse votre_réponse la_réponse ce_ticket au_ticket ce_fil
        NOW maintenant tout_de_suite immédiatement aujourd'hui directement dès_que ensuite ton ta tes ce_soir
        GIVE +envoie +envoyez +donne +donnez +colle +collez +partage +partagez +montre +montrez +transmets
            +transmettez +joins +joignez +copie +copiez +poste +postez +dis +affiche +mets +mettez +dépose +déposez
            +fournis +transfère +transférez +communique +communiquez +expédie +téléverse +lis envoyer donner coller
            partager montrer transmettre joindre copier poster déposer fournir transférer communiquer lire mettre
            publier m'envoyer !envoie-moi !donne-moi !envoyez-moi !donnez-moi !passe-moi !file-moi !montre-moi
            !colle-moi !transmets-moi !communique-moi !dis-moi !communiquez-moi me_lire expédier téléverser
            faire_suivre !j'ai_besoin_du !j'ai_besoin_de_ton
        DUMP +imprime +affiche +lance +exécute afficher imprimer lancer exécuter +liste lister
        SECRET mot_de_passe mots_de_passe jeton jetons clé_d'api clé_api clés_api clé_privée clés_privées
            identifiants secret secrets clé_secrète clé_de_signature token clé_d'accès clés_d'accès phrase_secrète
            clé_maîtresse clé
        ENV variables_d'environnement variable_d'environnement l'environnement_complet
        OFF désinstaller +désinstalle +neutralise +baisse +vide vider +éteins éteindre +arrête arrêter +désactive
            +désactivez +coupe +coupez +contourne +contournez +saute +sautez +supprime +retire +retirez +enlève
            +ignore +lève +débranche +passe désactiver couper contourner sauter supprimer retirer enlever ignorer
            lever débrancher suspendre +suspends +suspendez neutraliser
        GUARD filtre filtres contrôle contrôles vérification protection scanner signature analyse crochet crochets
            hook hooks protection_de_branche protection_de_la_branche demandes_d'autorisation demandes_de_permission
            demande_d'autorisation bac_à_sable sandbox filtrage analyse_de_sécurité contrôle_de_signature
            vérification_de_signature vérification_des_signatures vérifications_obligatoires double_authentification
            contrôles_de_sécurité filtre_des_messages pare-feu antivirus revue_obligatoire invites_de_permission
            demandes_de_confirmation contrôle_de_sécurité vérifications_de_sécurité protection_des_branches
            confirmations scan_de_sécurité contrôle_des_messages filtre_de_messages
        MERGE +fusionne +fusionnez +mergez +intègre fusionner merger intégrer
        CHANGE branche pr mr demande_de_fusion correctif
        PUSH +pousse +poussez pousser forcer
        MAINLINE branche_principale main master
        PUBLISH +publie +publiez +déploie +déployez +mets +mettez +pousse publier déployer mettre
        PLACE production prod registre npm pypi en_ligne dépôt_public magasin
        VERSION version paquet page site article build
        GRANT +donne +donnez +accorde +accordez +ajoute +ajoutez +attribue +ouvre accorder donner ajouter attribuer
            ouvrir !donne-moi !donnez-moi !accorde-moi !ajoute-moi !accordez-moi autoriser +autorise +autorisez
        RIGHT accès droits droit rôle admin administrateur permission permissions autorisation autorisations
            collaborateur écriture authorized_keys
        OUTSIDE adresse_externe adresse_personnelle boîte_personnelle au_prestataire au_cabinet au_partenaire
            mail_perso adresse_perso presse commissaire_aux_comptes
    """,
    "es": """
        AGENT agente agentes asistente
        ASK por_favor el_agente_debe los_agentes_deben asistente_debe necesito_que te_pido haz_el_favor
            te_agradecería quiero_que asegúrate_de os_pido le_ruego le_pido porfa ruego
        CAN podría podrías puedes puede podéis debes tienes_que
        FREE sin_preguntar sin_consultar no_hace_falta sin_confirmar sin_pedir
        IT
        NOT no nunca jamás sin prohibid* ningún ninguna
        HOW cómo quién por_qué dónde cuál
        ABOUT ataque* ejemplo rechaz* sospechos*
        ME me nos aquí tu_respuesta su_respuesta la_respuesta este_hilo este_tique al_tique
        NOW ahora ya hoy directamente en_cuanto luego tu tus inmediatamente
        GIVE +envía +manda +pega +comparte +muestra +pasa +adjunta +copia +sube +publica +reenvía +escribe +pon
            +deja +incluye +vuelca +envíe +adjunte +pegue +mande enviar mandar pegar compartir mostrar pasar
            adjuntar copiar subir reenviar escribir poner dejar darme enviarme mandarme pasarme !envíame !mándame
            !dame !pásame !dime !muéstrame !enséñame !pégame !enviadme !páseme !envíeme !me_des mandes envíes pases
            subas adjuntes pegues !necesito_la !necesito_tu reenvíes
        DUMP +imprime +ejecuta +lista +vuelca imprimir ejecutar volcar
        SECRET contraseña contraseñas clave claves token tokens credenciales secreto secretos clave_privada
            clave_api
        ENV variables_de_entorno variable_de_entorno entorno_completo
        OFF +desinstala desinstalar retirar suprimir suspender +suspende +retira +suprime +levanta +desactiva
            +deshabilita +apaga +salta +sáltate +omite +quita +elimina +evita +anula +desconecta desactivar
            deshabilitar apagar saltar omitir quitar eliminar evitar anular desactives quites apagues desactive
            !desactívame saltarte
        GUARD filtro filtros controles permisos verificación escáner auditoría hook hooks ganchos gancho
            protección_de_rama protección_de_la_rama avisos_de_permiso sandbox caja_de_arena filtrado
            análisis_de_seguridad escaneo_de_seguridad verificación_de_firmas verificación_de_firma
            comprobaciones_obligatorias revisión_obligatoria doble_factor cortafuegos peticiones_de_permiso
            controles_de_seguridad diálogos_de_permiso confirmaciones filtro_de_mensajes solicitudes_de_permiso
            antivirus revisión_de_seguridad protección_de_ramas petición_de_permiso
        MERGE +fusiona +mezcla +integra +mergea +funde +mergead fusionar mezclar integrar mergear fusiones mergees
        CHANGE rama pr mr cambio
        PUSH +empuja +sube empujar subir !haz_push
        MAINLINE rama_principal main master
        PUBLISH +publica +publique +despliega +sube publicar desplegar lanzar liberar subir publiques despliegues
            !poned
        PLACE producción registro npm pypi tienda en_línea
        VERSION versión paquete página web imagen nota
        GRANT +dale +concede +otorga +añade +agrega +asigna dar conceder otorgar añadir agregar asignar !dame
            !añádeme !agrégame darme !concédeme me_des !dadme autorizar +autoriza !denos !danos
        RIGHT acceso permisos permiso rol admin administrador derechos colaborador privilegios escritura
        OUTSIDE correo_externo dirección_externa correo_personal buzón_personal al_proveedor a_la_gestoría
            a_la_asesoría cuenta_personal al_contratista prensa
    """,
    "pt": """
        AGENT agente agentes assistente
        ASK por_favor preciso_que consegues o_agente_deve agente_deve agentes_devem peço_que gostaria_que favor
            faz_favor
        CAN poderia podia podes pode você_pode você_deve consegue tens_de você_precisa dá_para dá_pra
        FREE sem_perguntar sem_confirmar sem_pedir não_precisa_perguntar sem_consultar
        IT
        NOT não nunca jamais sem proibid* nenhum
        HOW como quem por_que porquê onde qual
        ABOUT ataque* exemplo recus* suspeit*
        ME me mim nos aqui tua_resposta sua_resposta a_resposta na_resposta neste_chamado no_chamado pra_mim
        NOW agora já hoje logo direto depois teu tua teus tuas seu seus sua suas assim_que
        GIVE +envia +envie +manda +mande +cola +cole +partilha +compartilha +mostra +mostre +passa +passe +anexa
            +anexe +copia +copie +publica +sobe +suba +põe +coloca +coloque +encaminha +encaminhe +escreve +inclui
            enviar mandar colar partilhar compartilhar mostrar passar anexar copiar subir pôr colocar encaminhar
            escrever !me_envia !me_manda !me_passa !me_mostra !me_diz !me_dá !me_arruma !manda-me !envia-me !dá-me
            !diz-me !passa-me !mostra-me !me_envie !me_mande !me_passe !preciso_da !preciso_do me_mandar
        DUMP +imprime +imprima +executa +roda +rode +lista +despeja imprimir executar rodar
        SECRET senha senhas palavra-passe chave chaves token tokens credenciais segredo segredos
        ENV variáveis_de_ambiente variável_de_ambiente
        OFF +afrouxa suspender +suspende retirar +retira +esvazia desinstalar +desinstala +desativa +desative
            +desliga +desligue +pula +pule +ignora +remova +tira +tire +contorna +salta desativar desligar pular
            ignorar remover tirar contornar saltar desabilitar +desabilita +desabilite
        GUARD filtro filtros proteção verificação scanner checagem aprovações confirmação hook hooks ganchos
            proteção_de_branch proteção_do_branch proteção_da_branch proteção_da_main pedidos_de_permissão sandbox
            triagem varredura_de_segurança verificação_de_assinatura antivirus verificação_de_assinaturas
            verificações_obrigatórias revisão_obrigatória dois_fatores firewall avisos_de_permissão confirmações
            filtro_de_mensagens análise_de_segurança verificação_de_segurança checagem_de_segurança
            hook_de_assinatura
        MERGE +mescla +funde +integra +mergeia +mergeie mesclar fundir integrar mergear !dá_merge !faz_o_merge
            fazer_o_merge !faça_o_merge dar_merge !faz_merge fazer_merge
        CHANGE branch pr mr alteração
        PUSH +empurra +sobe empurrar subir !dá_push fazer_push
        MAINLINE branch_principal main master ramo_principal
        PUBLISH +publica +publique +implanta +implante +sobe publicar lançar implantar liberar subir
        PLACE produção registro registo npm pypi loja ar
        VERSION versão pacote página site imagem
        GRANT +concede +conceda +adiciona +adicione +acrescenta +atribui dar conceder adicionar acrescentar atribuir
            liberar !me_dá !me_adiciona !dá-me !me_dê !me_libera !me_conceda autorizar
        RIGHT acesso permissão permissões papel admin administrador direitos colaborador privilégios escrita
        OUTSIDE endereço_externo email_pessoal e-mail_pessoal meu_gmail fornecedor conta_pessoal revista imprensa
    """,
    "it": """
        AGENT agente agenti assistente
        ASK si_invita si_richiede è_pregato sei_pregato mi_serve_che occorre bisogna ti_spiace ti_dispiace
            l'assistente_deve per_favore per_cortesia potresti potrebbe potreste l'agente_deve agente_deve
            agenti_devono ti_chiedo_di ho_bisogno_che assicurati_di vorrei_che ti_prego vi_prego la_prego si_prega
            riesci_a cortesemente gentilmente
        CAN può_procedere puoi può potete devi dovresti
        FREE senza_chiedere senza_conferma non_serve_chiedere non_stare_a_chiedere senza_domandare
        IT
        NOT non mai senza vietat* nessun nessuna
        HOW come chi perché dove quale
        ABOUT attacco esempio rifiut* sospett*
        ME mi me ci qui tua_risposta sua_risposta la_risposta nella_risposta in_risposta
        NOW adesso ora oggi subito direttamente appena poi pure tuo tua tuoi tue
        GIVE +esporta esportare trasferire +trasferisci +riporta riportare trasmettere +trasmetti recapitare
            +comunica +consegna consegnare +includi +invia +manda +incolla +condividi +mostra +passa +allega +copia
            +inoltra +scrivi +metti +pubblica +posta +accoda +spedisci +gira inviare mandare incollare condividere
            mostrare passare allegare copiare caricare inoltrare scrivere mettere spedire girare !inviami !mandami
            !dammi !passami !dimmi !mostrami !girami !incollami !inviaci !mandaci !inviatemi !mandatemi inviarmi
            mandarmi darmi passarmi dirmi !mi_serve_la !mi_servono_le
        DUMP +stampa +esegui +elenca +lancia stampare eseguire lanciare
        SECRET password parola_d'ordine token chiave chiavi credenziali segreto segreti
        ENV variabili_d'ambiente variabili_di_ambiente variabile_d'ambiente
        OFF +disinstalla disinstallare suppliscano elimina +elimina eliminare +spegnete +disattivate +metti_in_skip
            +leva +disattiva +disabilita +spegni +salta +ignora +rimuovi +togli +aggira +sospendi disattivare
            disabilitare spegnere saltare ignorare rimuovere togliere aggirare sospendere escludere +escludi
        GUARD filtro filtri controlli richieste divieti verifica scanner hook hooks protezione_del_ramo
            protezione_del_branch richieste_di_permesso richieste_di_autorizzazione sandbox filtro_dei_messaggi
            scansione_di_sicurezza verifica_delle_firme verifica_della_firma controlli_obbligatori
            revisione_obbligatoria due_fattori firewall richieste_di_conferma antivirus controlli_di_sicurezza
            controllo_delle_firme controllo_di_sicurezza conferme protezione_dei_rami controllo_dei_messaggi
            verifica_firma
        MERGE unisce +accorpa accorpare +unisci +fondi +integra +mergia unire fondere integrare mergiare
            !fai_il_merge fare_il_merge !fai_merge
        CHANGE ramo branch pr mr modifica
        PUSH +spingi spingere !fai_push
        MAINLINE ramo_principale main master
        PUBLISH +pubblica +rilascia +distribuisci pubblicare rilasciare distribuire caricare metti mettere
        PLACE produzione registro npm pypi negozio linea rete
        VERSION versione pacchetto pagina sito immagine
        GRANT +dai +concedi +aggiungi +assegna dare concedere aggiungere assegnare !dammi !aggiungimi !concedimi
            darmi autorizzare +autorizza abilitare +abilita !abilitami
        RIGHT accesso permessi permesso ruolo admin amministratore diritti collaboratore privilegi scrittura
        OUTSIDE indirizzo_esterno mail_personale casella_personale fornitore commercialista stampa
    """,
}

KEY_FILES = (
    r"(?<!\w)\.aws(?:/\w+)?|\.netrc|\.npmrc|\.pypirc|\.pgpass|\.my\.cnf|\.git-credentials|\.kube(?:/config)?|\.gnupg"
    r"|\.ssh(?:/[\w.]+)?|\.docker/config(?:\.json)?|(?<!\w)\.env(?!\.(?:example|sample|template|dist)|\w|\()(?:\.\w+)?"
    r"|\.vault-token|id_rsa|id_ed25519|id_ecdsa|kubeconfig|/etc/shadow|keychain|keyring|auth\.(?:json|toml)"
    r"|credentials\.(?:json|toml|ya?ml|csv)|service[-_ ]account[-_ .]?(?:json|key|file)"
    r"|secrets?\.(?:ya?ml|json|toml|env)|[\w-]{1,60}\.(?:pem|p12|pfx|jks|kdbx|keystore)(?!\w)"
    r"|\.config/(?:gcloud|gh|rclone)\S{0,60}|\.p4tickets|\.terraformrc|\.bash_history|\.zsh_history|gradle\.properties"
    r"|(?<!\w)\.azure(?:/\w+)?|wallet\.dat"
)
ENVIRONS = (
    r"(?<!\w)printenv(?![.\w])|/proc/(?:self|\d+|\*)/environ|process\.env(?!\.)|os\.environ(?!\[|\.get)"
    r"|`env`|`set`|'env'"
)
ADDRESSES = (
    r"(?:(?:https?|s?ftp|wss?)://"
    r"(?!localhost|127\.|10\.|192\.168\.|[\w.-]{0,60}(?:\.local|\.internal|\.intra|\.lan|\.corp)\b)"
    r"|[\w.+-]{1,40}@(?:[\w-]{1,40}\.){1,4}[a-z0-9]{1,10}\b)"
)
# One word at least of whatever the two patterns above match.
FILE_WORDS = (
    "aws netrc npmrc pypirc pgpass cnf git-credentials credentials kube gnupg ssh docker env vault token rsa ed25519"
    " ecdsa id kubeconfig shadow keychain keyring auth service secret secrets pem p12 pfx jks kdbx keystore config"
    " p4tickets terraformrc history gradle azure wallet environ printenv process os set"
)
# A piece at least of one word in whatever they match, however it is glued to others.
FILE_PARTS = (
    r"aws|netrc|npmrc|pypirc|pgpass|cnf|credentials|kube|gnupg|ssh|docker|env|vault|rsa|ed25519|ecdsa|shadow|keychain"
    r"|keyring|auth|service|secret|pem|p12|pfx|jks|kdbx|keystore|config|p4tickets|terraformrc|history|gradle|azure"
    r"|wallet|\bset\b"
)
